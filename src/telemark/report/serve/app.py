"""The pages of `telemark serve`: a path in, a response out. Knows nothing of sockets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs, unquote

from telemark import __version__
from telemark.errors import TelemarkError
from telemark.host.web import Response
from telemark.report import html, json_card, markdown
from telemark.report.build import build_report
from telemark.report.compare import Side, compare, open_side
from telemark.report.compare.render import as_table
from telemark.report.serve import listing
from telemark.store.documents import live as live_file

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
ASSETS = {name.rsplit("/", 1)[-1]: name for name in (*html.SCRIPTS, *html.STYLES, "assets/live.js")}
TYPES = {".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".md": "text/markdown"}


class App:
    """Serves the campaigns of one folder.

    Args:
        root: the folder of campaigns, `runs` by default.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def respond(self, path: str, query: str) -> Response:
        """The answer to a GET of this path."""
        try:
            return self._route([unquote(part) for part in path.split("/") if part], query)
        except _NotFoundError as error:
            return _page("message.html.j2", 404, title="Not found", message=str(error))
        except TelemarkError as error:
            text = f"{error.message}{f' (hint: {error.hint})' if error.hint else ''}"
            return _page("message.html.j2", 422, title="This cannot be shown", message=text)

    def _route(self, parts: list[str], query: str) -> Response:
        match parts:
            case []:
                return self._index()
            case ["assets", name] if name in ASSETS:
                return _text(html.asset(ASSETS[name]), TYPES[Path(name).suffix])
            case ["compare"]:
                return self._compare(parse_qs(query))
            case ["campaign", name]:
                return self._campaign(self._folder(name))
            case ["campaign", name, what]:
                return self._of_campaign(self._folder(name), what)
        raise _NotFoundError("there is no such page")

    def _folder(self, name: str) -> Path:
        """The folder of a campaign: a direct child of the root and nothing else."""
        folder = self.root / name
        if "/" in name or "\\" in name or "\0" in name or name in (".", "..") or not listing.is_campaign(folder):
            raise _NotFoundError(f"no campaign of that name in {self.root.name}")
        return folder

    def _index(self) -> Response:
        return _page("index.html.j2", folder=self.root.name, campaigns=listing.campaigns(self.root))

    def _campaign(self, folder: Path) -> Response:
        live = live_file.read(folder)
        return _page("watch.html.j2", name=folder.name, live=live is not None, runs=listing.runs(folder))

    def _of_campaign(self, folder: Path, what: str) -> Response:
        if what == "live.json":
            live = live_file.read(folder)
            content = {"live": live.as_dict() if live else None, "runs": [run.state for run in listing.runs(folder)]}
            return _text(json.dumps(content), TYPES[".json"])
        if what not in ("report.html", "score-card.json", "score-card.md"):
            raise _NotFoundError("there is no such page")
        report = build_report([folder])
        if what == "report.html":
            policy = html.policy([html.asset(name) for name in html.SCRIPTS]) + "; frame-ancestors 'none'"
            return _text(html.render(report), "text/html", policy=policy)
        render = json_card.render if what.endswith(".json") else markdown.render
        return _text(render(report), TYPES[Path(what).suffix])

    def _compare(self, query: Mapping[str, list[str]]) -> Response:
        names = [query.get(side, [""])[0] for side in ("a", "b")]
        sides = [self._side(name) for name in names]
        comparison = compare(sides[0], sides[1])
        return _page("compare.html.j2", comparison=comparison, table=as_table(comparison))

    def _side(self, text: str) -> Side:
        name, _, server = text.partition(":") if not (self.root / text).is_dir() else (text, "", "")
        folder = self._folder(name)
        return open_side(f"{folder}:{server}" if server else str(folder))


class _NotFoundError(Exception):
    """There is no such page or campaign."""


def _text(text: str, kind: str, status: int = 200, policy: str = PAGE_POLICY) -> Response:
    return Response(status, f"{kind}; charset=utf-8", text.encode(), policy)


def _page(template: str, status: int = 200, **values: object) -> Response:
    text = html.environment().get_template(template).render(version=__version__, **values)
    return _text(text, "text/html", status)

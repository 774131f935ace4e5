"""Telemark beside other tools, each against a built-in server of its own: one JSON line, one Markdown table.

    .venv/bin/python benchmarks/peers.py --install    installs the pinned versions into the cache folder first

What is counted comes from the server (messages in and out, connects) and from the kernel (processor time and memory of
all processes of the tool), so that every tool is measured alike; only the last two rows show what a tool says itself.
Tools that are missing are named with the reason. It takes several minutes.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from peer_adapters import PEERS, WITHOUT_ADAPTER, Peer, install
from peer_measures import MEASURES, NotMeasuredError

QUIET_LOAD = 2.0  # load average above which figures say more about other programs


def measure(peer: Peer, chosen: Sequence[str]) -> dict[str, Any]:
    """All figures of one tool; a measurement that fails says why."""
    found: dict[str, Any] = {"remark": peer.remark}
    for name in chosen:
        with tempfile.TemporaryDirectory(prefix="telemark-peers-", ignore_cleanup_errors=True) as folder:
            found[name] = _or_reason(MEASURES[name].take, peer, Path(folder))
    return found


def _or_reason(take: Callable[[Peer, Path], Any], peer: Peer, folder: Path) -> Any:
    try:
        return take(peer, folder)
    except NotMeasuredError as reason:
        return {"not_measured": str(reason)}


def table(results: dict[str, dict[str, Any]], chosen: Sequence[str]) -> str:
    """A row for each measure, a column for each tool."""
    present = {name: found for name, found in results.items() if "missing" not in found}
    lines = ["| | " + " | ".join(present) + " |", "|---" * (len(present) + 1) + "|"]
    for name in chosen:
        cells = [_cell(name, found[name]) for found in present.values()]
        lines.append(f"| {MEASURES[name].title} | " + " | ".join(cells) + " |")
    lines.append("")
    lines += [f"- {name}: {found.get('missing') or found['remark']}" for name, found in results.items()]
    return "\n".join(lines)


def _cell(name: str, value: Any) -> str:
    if isinstance(value, dict) and "not_measured" in value:
        return f"- ({value['not_measured']})"
    return MEASURES[name].cell(value)


def main() -> None:
    """Each tool in turn, the machine to itself."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--install", action="store_true", help="install what is missing into the cache folder first")
    parser.add_argument("--only", action="append", default=[], help="tools whose name contains this text; repeatable")
    parser.add_argument("--measure", action="append", choices=list(MEASURES), help="only these measures; repeatable")
    options = parser.parse_args()
    chosen = options.measure or list(MEASURES)
    load, results = os.getloadavg()[0], {}
    for peer in PEERS:
        if options.only and not any(text.lower() in peer.name.lower() for text in options.only):
            continue
        if options.install and peer.missing():
            install(peer)
        reason = peer.missing()
        results[peer.name] = {"missing": reason} if reason else measure(peer, chosen)
    if not options.only:
        results |= {name: {"missing": reason} for name, reason in WITHOUT_ADAPTER.items()}
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    line = {"name": "peers", "date": today, "load_average_before": round(load, 2), "quiet": load <= QUIET_LOAD}
    print(json.dumps({**line, "peers": results}))
    print(table(results, chosen))


if __name__ == "__main__":
    main()

"""`telemark serve`: a local page for campaigns, live runs, reports and comparisons."""

from __future__ import annotations

from pathlib import Path

import click

from telemark.errors import DataError, ExitCode
from telemark.report.serve import make_server
from telemark.store.layout import DEFAULT_OUT


@click.command("serve")
@click.argument("folder", required=False, default=DEFAULT_OUT, type=click.Path(path_type=Path))
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="Port; 0: any free one.")
def command(folder: Path, port: int) -> int:
    """List the campaigns of FOLDER (default: runs), watch a running one, open reports and comparisons in a browser.

    Listens on 127.0.0.1 only, reads only, and starts nothing. Ctrl-C ends it.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: expected a folder of campaigns, found none", hint="`telemark run` creates ./runs")
    server = make_server(folder, port)
    click.echo(f"serving {folder} at {server.url} (Ctrl-C ends it)", err=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        click.echo("ended", err=True)
    finally:
        server.server_close()
    return ExitCode.PASSED

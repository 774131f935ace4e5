"""Showing a run while it runs: on a terminal, as plain lines, or for machines."""

from __future__ import annotations

import sys

from telemark.runner.progress import RunListener
from telemark.runner.view.machine import MachineLines
from telemark.runner.view.plain import PlainLines
from telemark.runner.view.terminal import TerminalView


def choose_view(*, as_json: bool) -> RunListener:
    """Machine lines to stdout when asked for; else a live view when stderr is a terminal, plain lines when not."""
    if as_json:
        return MachineLines(sys.stdout)
    return TerminalView() if sys.stderr.isatty() else PlainLines(sys.stderr)


__all__ = ["MachineLines", "PlainLines", "TerminalView", "choose_view"]

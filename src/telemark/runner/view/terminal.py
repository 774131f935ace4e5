"""The live view on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.live import Live
from rich.markup import escape as escape_markup
from rich.table import Table

from telemark.host.text import visible
from telemark.model.plan import RunPlan
from telemark.runner.phases import Phase
from telemark.runner.progress import Progress, RunOutcome
from telemark.runner.view import words

_STATE_STYLE = {"complete": "green", "failed": "bold red", "interrupted": "yellow"}
_PHASES = (Phase.CONNECT, Phase.HOLD, Phase.WARMUP, Phase.MEASURE, Phase.DRAIN, Phase.STOP)


class TerminalView:
    """A small table that is redrawn in place, on stderr."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._live: Live | None = None

    def run_started(self, run: str, server: str, plan: RunPlan, number: int, of: int) -> None:
        title = f"run {number} of {of}  {words.run(plan)}  on {server}"
        self._console.print(f"[bold]{escape(title)}[/]")
        self._live = Live(console=self._console, refresh_per_second=4, transient=True)
        self._live.start()

    def progress(self, progress: Progress) -> None:
        if self._live is not None:
            self._live.update(picture(progress))

    def note(self, text: str) -> None:
        self._console.print(f"  note: {escape(text)}")

    def run_ended(self, outcome: RunOutcome) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        style = _STATE_STYLE.get(outcome.state, "")
        reason = f": {escape(outcome.reason)}" if outcome.reason else ""
        self._console.print(f"  [{style}]{outcome.state}[/]{reason}  {escape(str(outcome.folder))}")
        if outcome.hint:
            self._console.print(f"  hint: {escape(outcome.hint)}")


def escape(text: str) -> str:
    """Text that may come from the server: neither markup nor escape sequences."""
    return escape_markup(visible(text))


def picture(progress: Progress) -> Table:
    """Everything about the run at this moment."""
    totals = progress.totals
    table = Table.grid(padding=(0, 2))
    table.add_row("phase", _phase_line(progress.phase))
    clock = f"{words.seconds(progress.elapsed_s)} elapsed, at most {words.seconds(progress.remaining_s)} left"
    table.add_row("time", clock)
    failed = f", [red]{totals.failed:,} failed[/]" if totals.failed else ""
    table.add_row("devices", f"{words.devices(progress)}{failed}")
    table.add_row("sent", f"{words.count(totals.sent)}{words.rate(progress, progress.sent_rate)}")
    table.add_row("received", f"{words.count(totals.received)}{words.rate(progress, progress.received_rate)}")
    table.add_row("", f"{words.missing(progress)}, {words.count(totals.dropped)} dropped by the engine")
    latency = f"p50 {words.microseconds(totals.p50_us)}  p99 {words.microseconds(totals.p99_us)} (last second, about)"
    table.add_row("latency", latency)
    server = f"{words.cores(progress.server_cpu_cores)}  {words.memory(progress.server_rss_bytes)}"
    table.add_row("server", server)
    broken = f"  [red]{totals.disconnects:,} disconnects[/]" if totals.disconnects else ""
    table.add_row("engine", f"{words.engine(progress)}{broken}")
    return table


def _phase_line(phase: Phase) -> str:
    if phase not in _PHASES:
        return f"[bold]{phase}[/]"
    return " > ".join(f"[bold reverse] {each} [/]" if each is phase else f"[dim]{each}[/]" for each in _PHASES)

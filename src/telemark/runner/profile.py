"""A profile of the busiest server thread, taken with `perf` while the run is measured (`--profile-threads`)."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from telemark.store.documents.profile import LONGEST_NAME, MOST_FRAMES, MOST_STACKS, ProfileFile, Stack

EVENT, FREQUENCY = "cpu-clock", "99"  # a clock that virtual machines have as well; 99 does not beat with 100 Hz timers
LONGEST_S = 30.0
SETTLE_S = 2.0  # into the measuring: the samples of a second tell by then who is busy
SCRIPT_S = 60.0  # for perf to write the stacks

Busiest = Callable[[], tuple[int, str] | None]  # thread id and name, as the newest sample tells


class ThreadProfiler:
    """Profiles one thread in the background. Never disturbs the run: what goes wrong is kept as the problem.

    Args:
        busiest: tells the server's busiest thread.
        seconds: that the measuring lasts.
    """

    def __init__(self, busiest: Busiest, seconds: float) -> None:
        self._busiest = busiest
        self._wait_s = min(SETTLE_S, seconds / 4)
        self._seconds = min(LONGEST_S, seconds / 2)
        self._ended = threading.Event()
        self._folder = tempfile.TemporaryDirectory(prefix="telemark-perf-")
        self._found = ProfileFile(problem="the run ended before its measuring")
        self._thread = threading.Thread(target=self._profile, name="profile", daemon=True)

    def start(self) -> None:
        """The measuring has begun. Safe to call again."""
        if self._thread.ident is None:
            self._thread.start()

    def finish(self) -> ProfileFile:
        """The profile, or why there is none. Call it when the run has ended."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()
        if self._found.problem is None:
            self._found = self._with_stacks(self._found)
        self._folder.cleanup()
        return self._found

    @property
    def _file(self) -> Path:
        return Path(self._folder.name) / "perf.data"

    def _profile(self) -> None:
        perf = shutil.which("perf")
        if perf is None:
            self._found = ProfileFile(problem="perf is not installed (Debian: apt-get install linux-perf)")
            return
        self._ended.wait(self._wait_s)
        thread = self._busiest()
        if thread is None:
            self._found = ProfileFile(problem="no thread of the server is known on this host")
            return
        problem = self._record([perf, "record", "-q", "-e", EVENT, "-F", FREQUENCY, "-g", "-t", str(thread[0])])
        self._found = ProfileFile(thread[0], thread[1][:LONGEST_NAME], self._seconds, problem=problem)

    def _record(self, command: list[str]) -> str | None:
        """Record until the time is over or the run has ended; why it did not work. `sleep` is perf's clock: its time
        begins when perf is ready."""
        errors = Path(self._folder.name) / "errors"
        whole = [*command, "-o", str(self._file), "--", "sleep", f"{self._seconds:.3f}"]
        try:
            with errors.open("wb") as log:
                child = subprocess.Popen(whole, stdin=subprocess.DEVNULL, stderr=log)
            while child.poll() is None and not self._ended.wait(0.1):
                pass
            cut_short = child.poll() is None
            if cut_short:
                child.send_signal(signal.SIGINT)
            child.wait(SCRIPT_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"perf record: {error}"
        failed = child.returncode != 0 and not cut_short
        return f"perf record: {_last_line(errors.read_text(errors='replace'))}" if failed else None

    def _with_stacks(self, found: ProfileFile) -> ProfileFile:
        done = _run(["perf", "script", "-i", str(self._file), "-F", "ip,sym"], SCRIPT_S)
        if done.returncode != 0:
            return ProfileFile(found.thread_id, found.thread_name, problem=f"perf script: {_last_line(done.stderr)}")
        counts = fold(done.stdout.splitlines())
        stacks = tuple(Stack(frames, count) for frames, count in counts.most_common(MOST_STACKS))
        problem = None if stacks else "perf found no sample: the thread used no CPU time"
        return ProfileFile(found.thread_id, found.thread_name, found.seconds, counts.total(), stacks, problem)


def fold(lines: Iterable[str]) -> Counter[tuple[str, ...]]:
    """Different stacks of the output of `perf script -F ip,sym`, outermost first, with their samples."""
    counts: Counter[tuple[str, ...]] = Counter()
    frames: list[str] = []
    for line in (*lines, ""):
        words = line.split(None, 1)
        if words:
            frames.append((words[1] if len(words) > 1 else words[0])[:LONGEST_NAME])
        elif frames:
            counts[tuple(reversed(frames[:MOST_FRAMES]))] += 1
            frames = []
    return counts


def _run(command: list[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=timeout_s, stdin=subprocess.DEVNULL,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "rror" in line or "ermission" in line]
    return next(iter(telling or lines[-1:]), "it gave no reason")[:300]

"""Accidents that happen to a run on purpose: each strikes one part of a running program, for real."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import psutil

from tests.support.telemark_program import TelemarkProgram
from tests.support.waiting import eventually

ENGINE = "telemark.runner.engine_process"
CONSUMER = "telemark.jms.Main"
STEPPED_CLOCK = Path(__file__).with_name("stepped_clock.c")
FREEZE_S = 5.0
MEMORY_GROUPS = Path("/sys/fs/cgroup/memory")


class Bench:
    """One campaign folder on a small disk of its own, and what an accident may do to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out = folder / "disk"
        self.clock_file = folder / "clock"
        self.memory_group = MEMORY_GROUPS / f"telemark-{uuid4().hex[:8]}"
        self._undo: list[Callable[[], object]] = []

    def __enter__(self) -> Bench:
        self.out.mkdir()
        self._run("mount", "-t", "tmpfs", "-o", "size=64m", "telemark-test", str(self.out))
        self.clock_file.write_text("0")
        return self

    def __exit__(self, *_: object) -> None:
        self.mend()
        self._run("umount", "-l", str(self.out))
        with suppress(OSError):
            self.memory_group.rmdir()

    def mend(self) -> None:
        """Take back what an accident did to the disk."""
        while self._undo:
            self._undo.pop()()

    def settable_clock(self) -> dict[str, str]:
        """Environment that lets the wall clock be stepped; CLOCK_MONOTONIC stays the host's."""
        library = self.folder / "stepped_clock.so"
        self._run("cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(STEPPED_CLOCK))
        return {"LD_PRELOAD": str(library), "STEPPED_CLOCK": str(self.clock_file)}

    # --- the accidents ---------------------------------------------------------------------------------------------

    def runner_killed(self, program: TelemarkProgram) -> None:
        program.child.kill()

    def engine_killed(self, program: TelemarkProgram) -> None:
        program.children_named(ENGINE)[0].kill()

    def server_killed(self, program: TelemarkProgram) -> None:
        program.children_named("loopback")[0].kill()

    def consumer_killed(self, program: TelemarkProgram) -> None:
        program.children_named(CONSUMER)[0].kill()

    def disk_full(self, program: TelemarkProgram) -> None:
        """The engine is held meanwhile: the disk must be full before the phase ends."""
        engine = program.children_named(ENGINE)[0]
        engine.suspend()
        self._fill_disk()
        engine.resume()

    def _fill_disk(self) -> None:
        filler = self.out / "filler"
        self._undo.append(lambda: filler.unlink(missing_ok=True))
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(1 << 16))

    def folder_read_only(self, program: TelemarkProgram) -> None:
        assert eventually(self._mount_read_only)
        self._undo.append(lambda: self._run("umount", "-l", str(self.out)))

    def _mount_read_only(self) -> bool:
        """Not while a file is open for writing that was opened since the mount."""
        self._run("mount", "--bind", str(self.out), str(self.out))
        try:
            self._run("mount", "-o", "remount,ro,bind", str(self.out))
        except subprocess.CalledProcessError:
            self._run("umount", "-l", str(self.out))
            return False
        return True

    def out_of_memory(self, program: TelemarkProgram) -> None:
        """The engine's memory group has room for nothing more: the kernel kills it. Held, it cannot end its phase."""
        engine = program.children_named(ENGINE)[0]
        engine.suspend()
        self.memory_group.mkdir()
        (self.memory_group / "memory.limit_in_bytes").write_text(str(64 << 20))
        (self.memory_group / "cgroup.procs").write_text(str(engine.pid))
        Path(f"/proc/{engine.pid}/oom_score_adj").write_text("1000")
        fill = f"open('{self.memory_group}/cgroup.procs', 'w').write('0'); b'x' * (1 << 30)"
        hog = subprocess.Popen([sys.executable, "-c", fill], stderr=subprocess.DEVNULL)
        psutil.wait_procs([engine], timeout=60)
        hog.kill()
        hog.wait()

    def engine_frozen(self, program: TelemarkProgram) -> None:
        engine = program.children_named(ENGINE)[0]
        os.kill(engine.pid, signal.SIGSTOP)
        time.sleep(FREEZE_S)  # the accident itself lasts this long
        os.kill(engine.pid, signal.SIGCONT)

    def wall_clock_stepped(self, program: TelemarkProgram) -> None:
        self.clock_file.write_text("-3600")

    def _run(self, *command: str) -> None:
        subprocess.run(command, check=True, capture_output=True)

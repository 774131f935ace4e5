"""The Java of the analysis, as far as it can be tried without Spark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

JAVA = """#!/bin/sh
echo "a warning of Java" >&2
cat >/dev/null
while [ -e "$BUSY" ]; do sleep 0.05; done
"""
COMMAND = """
import os, sys
from telemark.pipeline.spark.gateway import Gateway
gateway = Gateway(sys.argv[1], [], os.environ)
print("the card", flush=True)
sys.stdin.readline()
"""


def test_a_java_that_is_still_busy_keeps_nobody_waiting_for_the_output_of_the_command(tmp_path: Path) -> None:
    java, busy = tmp_path / "java", tmp_path / "busy"
    java.write_text(JAVA)
    java.chmod(0o755)
    busy.touch()
    command = [sys.executable, "-c", COMMAND, str(java)]
    pipe = subprocess.PIPE
    try:
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env={"BUSY": str(busy)}) as process:
            assert process.stderr
            assert process.stderr.readline() == b"a warning of Java\n"  # passed on while the command runs
            out, _ = process.communicate(b"\n", timeout=60)
        assert out == b"the card\n"
    finally:
        busy.unlink()

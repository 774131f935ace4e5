"""The Java runtime that servers written in Java need."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from telemark.errors import RequirementError

HOW_TO_GET = "install Java 17 or later (Debian: apt install openjdk-17-jre-headless), or set JAVA_HOME"


def java_program() -> str | None:
    """$JAVA_HOME's java, else the one on PATH."""
    home = os.environ.get("JAVA_HOME")
    if home and (program := Path(home, "bin", "java")).exists():
        return str(program)
    return shutil.which("java")


@cache
def _major_version(program: str) -> int:
    said = subprocess.run([program, "-version"], capture_output=True, text=True, check=False, timeout=20).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found.group(1)) if found else 0


def java_version() -> int | None:
    """Major version of the Java there is; None without one."""
    program = java_program()
    return _major_version(program) if program else None


def require_java(minimum: int, server: str) -> str:
    """The java program, or a clear refusal."""
    program, version = java_program(), java_version()
    if program is None or version is None:
        raise RequirementError(f"{server}: Java {minimum} or later expected, none found", hint=HOW_TO_GET)
    if version < minimum:
        raise RequirementError(f"{server}: Java {minimum} or later expected, {version} found", hint=HOW_TO_GET)
    return program

"""The Java runtime of this host: for Spark, for back-end consumers and for servers written in Java."""

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
    """$JAVA_HOME's java, else the one on PATH. A JAVA_HOME without a java counts as none: Spark would use it."""
    if home := os.environ.get("JAVA_HOME"):
        program = Path(home, "bin", "java")
        return str(program) if program.exists() else None
    return shutil.which("java")


def java_version() -> int | None:
    """Major version of the Java there is; None without one."""
    program = java_program()
    return _major_version(program) if program else None


def require_java(minimum: int, who: str) -> str:
    """The java program, or a clear refusal."""
    program = java_program()
    version = _major_version(program) if program else None
    if program is None or version is None or version < minimum:
        home = os.environ.get("JAVA_HOME")
        nothing = f"none in JAVA_HOME {home}" if home else "none"
        found = f"{version or 'an unknown version'} ({program})" if program else nothing
        raise RequirementError(f"{who}: Java {minimum} or later expected, found {found}", hint=HOW_TO_GET)
    return program


@cache
def _major_version(program: str) -> int | None:
    match = re.search(r'"(?:1\.)?(\d+)', _release_line(Path(program)) or _said_version(program))
    return int(match.group(1)) if match else None


def _release_line(java: Path) -> str:
    """Line JAVA_VERSION of the installation's `release` file: saves starting a JVM only to ask."""
    try:
        lines = (java.resolve().parent.parent / "release").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    return next((line for line in lines if line.startswith("JAVA_VERSION=")), "")


def _said_version(program: str) -> str:
    try:
        return subprocess.run([program, "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RequirementError(f"{program} does not run: {error}", hint=HOW_TO_GET) from error

"""Starts the Java that Spark's driver runs in, without Spark's launcher.

The launcher starts a Java only to compose the command line of the second one. Composed here, Java is up while Python
still imports pyspark, and pyspark finds it through the two variables it has for a gateway that is already there.
Whoever configures Spark by its own variables or files gets the launcher, which knows them.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from telemark.errors import RequirementError

_LAUNCHER_VARIABLES: Final = (
    "SPARK_HOME", "SPARK_CONF_DIR", "HADOOP_CONF_DIR", "PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT",
)  # fmt: skip
_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
_LONGEST_START_S: Final = 120.0
# What the launcher opens for Spark, but for the vector module: only machine learning uses it, and Java warns about it.
_OPENED: Final = (
    "java.base/java.lang", "java.base/java.lang.invoke", "java.base/java.lang.reflect", "java.base/java.io",
    "java.base/java.net", "java.base/java.nio", "java.base/java.util", "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic", "java.base/jdk.internal.ref", "java.base/sun.nio.ch",
    "java.base/sun.nio.cs", "java.base/sun.security.action", "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)  # fmt: skip
_OPTIONS: Final = (
    "-XX:+IgnoreUnrecognizedVMOptions",  # the last two are of later versions of Java
    *(f"--add-opens={name}=ALL-UNNAMED" for name in _OPENED),
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
)


def spark_home() -> Path:
    """Where pyspark is installed; found without importing it, which takes half a second."""
    found = find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        raise RequirementError("pyspark is needed for the analysis, found none", hint="pip install pyspark")
    return Path(next(iter(found.submodule_search_locations)))


def needs_launcher(environment: Mapping[str, str]) -> bool:
    """Whether the user has told Spark's launcher something that only it understands."""
    return any(name in environment for name in _LAUNCHER_VARIABLES)


class Gateway:
    """A Java that waits for pyspark. It ends when this process does, because its standard input ends."""

    def __init__(self, java: str, options: Sequence[str], environment: Mapping[str, str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="telemark-spark-")
        self._file = Path(self._folder.name) / "gateway"
        home = spark_home()
        command = [java, "-cp", f"{home / 'jars'}/*", *_OPTIONS, *options]
        added = {"SPARK_HOME": str(home), "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._file)}
        self._process = subprocess.Popen(
            [*command, "org.apache.spark.api.python.PythonGatewayServer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**environment, **added},
            process_group=0,  # Ctrl-C is for us: Spark ends after us, in order
        )
        threading.Thread(target=self._pass_on, name="telemark-java", daemon=True).start()
        atexit.register(self._end)

    def _pass_on(self) -> None:
        """Java's errors are ours as long as we are there. It may write its class archive for seconds after that; with
        our own standard error it would keep whoever reads the command's output waiting."""
        assert self._process.stderr
        for line in self._process.stderr:
            sys.stderr.buffer.write(line)
            sys.stderr.buffer.flush()

    def _end(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()

    @contextmanager
    def announced(self) -> Iterator[None]:
        """While this lasts, pyspark connects to this gateway instead of starting one."""
        port, secret = self._wait()
        os.environ |= {_PORT: str(port), _SECRET: secret}
        try:
            yield
        finally:
            del os.environ[_PORT], os.environ[_SECRET]

    def _wait(self) -> tuple[int, str]:
        """Port and secret, as soon as Java has written them."""
        end = time.monotonic() + _LONGEST_START_S
        while not self._file.exists():
            if self._process.poll() is not None or time.monotonic() > end:
                self._process.kill()
                raise RequirementError(f"Java ended with {self._process.returncode} before Spark was up")
            time.sleep(0.01)
        content = self._file.read_bytes()
        self._folder.cleanup()
        return int.from_bytes(content[:4], "big"), content[8:].decode()

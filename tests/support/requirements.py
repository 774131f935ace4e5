"""What tests need of the host. A missing program skips a test on a developer's machine and fails it on CI."""

from __future__ import annotations

import os
import shutil

import pytest

from telemark.servers import registry

PACKAGES = {
    "mosquitto_pub": "mosquitto-clients",
    "mosquitto_passwd": "mosquitto",
    "mvn": "maven",
    "carbon-cache": "graphite-carbon",
}
ON_CI = os.environ.get("CI", "").lower() in ("1", "true")
PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"])


def require(present: object, missing: str) -> None:
    """Skip the test when something is missing; on CI, where nobody reads a list of skipped tests, fail it."""
    if present:
        return
    if ON_CI:
        pytest.fail(f"{missing}; on CI everything the tests need must be installed (tools/setup test)")
    pytest.skip(missing)


def require_server(name: str) -> None:
    """A server the test starts."""
    found = registry.make(name).availability()
    require(found.available, f"{name} is not installed: {found.how_to_get}")


def require_program(name: str) -> str:
    """The path of a program the test runs."""
    path = shutil.which(name, path=PATH)
    require(path, f"{name} is not installed: apt install {PACKAGES.get(name, name)}")
    return str(path)

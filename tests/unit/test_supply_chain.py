"""Everything that is fetched has a digest here, and a source of advisories that does not answer is never a pass."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import tomllib
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.requirements import ON_CI

ROOT = Path(__file__).parents[2]
LOCKS = {path.stem: path.read_text() for path in (ROOT / "tools/locks").glob("*.txt")}
PINNED = re.compile(r"^([a-z0-9_.-]+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.M)


def tool(name: str) -> ModuleType:
    """A program of `tools` as a module."""
    loader = SourceFileLoader(f"tools_{name}", str(ROOT / "tools" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))  # type: ignore[arg-type]
    sys.modules[loader.name] = module  # dataclasses look for their module
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    return tool("audit")


def normal(name: str) -> str:
    """Names of packages differ in case and dashes."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_python_package_has_a_version_and_a_digest() -> None:
    """Those of pyproject.toml and all that they need; no line is anything else, and none has an address."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    asked = project["project"]["dependencies"] + project["project"]["optional-dependencies"]["dev"]
    locked = {normal(found[1]) for text in LOCKS.values() for found in PINNED.finditer(text)}

    assert {"run", "test", "audit"} == LOCKS.keys()
    assert {normal(re.split(r"[<>=]", each)[0]) for each in asked} <= locked
    for text in LOCKS.values():
        assert "" == re.sub(r"^#.*\n", "", PINNED.sub("", text), flags=re.M)
        assert "://" not in text


def test_set_up_takes_only_what_is_locked() -> None:
    """pip, cargo, npm and Maven, each by its own means; what Debian signs is Debian's."""
    setup, make, wheel = ((ROOT / name).read_text() for name in ("tools/setup", "Makefile", "tools/wheel"))

    assert re.findall(r"pip install.*", setup) == re.findall(r"pip install.*--require-hashes.*", setup)
    for line in (setup + make + wheel).splitlines():
        if re.search(r"cargo (test|run|build|clippy)|maturin (develop|build) ", line) and "--version" not in line:
            assert "--locked" in line, line
        if re.search(r"\bmvn -B", line):
            assert "--strict-checksums" in line, line
    assert "--ignore-scripts" in (ROOT / "src/telemark/servers/aedes.py").read_text()
    lock = json.loads((ROOT / "src/telemark/servers/programs/aedes/package-lock.json").read_text())
    assert all("integrity" in part and "resolved" not in part for name, part in lock["packages"].items() if name)


def test_ci_runs_on_the_python_of_the_distribution() -> None:
    """Debian's own is the oldest that is promised; a newer one on the PATH must not hide it."""
    if not ON_CI or not Path("/usr/bin/python3").exists():
        pytest.skip("for CI on a host that has a Python of its own")

    assert Path(sys.base_prefix) == Path("/usr")


PIP = {"dependencies": [{"name": "a", "version": "1", "vulns": []}]}
PIP_FOUND = {"dependencies": [{"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}]}
PIP_SKIPPED = {"dependencies": [{"name": "a", "skip_reason": "not found"}]}
CARGO: dict[str, Any] = {"lockfile": {"dependency-count": 3}, "vulnerabilities": {"list": []}}
CARGO_FOUND = CARGO | {"vulnerabilities": {"list": [{"package": {"name": "c"}, "advisory": {"id": "R-1"}}]}}
NPM: dict[str, Any] = {"vulnerabilities": {}, "metadata": {"dependencies": {"total": 2}}}
NPM_FOUND = NPM | {"vulnerabilities": {"n": {"severity": "high"}}}


@pytest.mark.parametrize(
    ("reader", "answer", "code"),
    [
        ("read_pip", PIP, 0), ("read_pip", PIP_FOUND, 1), ("read_pip", PIP_SKIPPED, 3), ("read_pip", {}, 3),
        ("read_cargo", CARGO, 0), ("read_cargo", CARGO_FOUND, 1), ("read_cargo", {}, 3),
        ("read_npm", NPM, 0), ("read_npm", NPM_FOUND, 1), ("read_npm", {"message": "405"}, 3),
    ],
)  # fmt: skip
def test_only_an_answer_about_every_part_is_a_pass(audit: ModuleType, reader: str, answer: Any, code: int) -> None:
    """pip-audit ends with 0 when its source knows no package; cargo and npm end with 1 for a defect and for silence."""
    found = getattr(audit, reader)(json.dumps(answer), "error: no way")

    assert code == audit.exit_code([found])
    assert ("NOT KNOWN" in "\n".join(audit.describe("parts", found))) == (code == 3)


def test_an_audit_that_fails_is_not_a_pass(audit: ModuleType) -> None:
    """No tool, no document, another document: nothing is known. A defect elsewhere weighs more."""

    def fail() -> None:
        raise FileNotFoundError("cargo")

    gap, defect = audit.attempt(fail), audit.read_pip(json.dumps(PIP_FOUND), "")

    assert 3 == audit.exit_code([gap]) == audit.exit_code([audit.read_npm("no json", "")])
    assert 1 == audit.exit_code([gap, defect])

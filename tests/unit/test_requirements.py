"""A test whose server is missing may be skipped at home, but never on CI."""

from __future__ import annotations

import pytest

from tests.support import requirements


def test_what_is_missing_skips_at_home_and_fails_on_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words name the program and the package that has it."""
    monkeypatch.setattr(requirements, "ON_CI", False)
    with pytest.raises(pytest.skip.Exception, match="mosquitto_none is not installed: apt install"):
        requirements.require_program("mosquitto_none")
    monkeypatch.setattr(requirements, "ON_CI", True)
    with pytest.raises(pytest.fail.Exception, match="mosquitto_none is not installed"):
        requirements.require_program("mosquitto_none")


def test_what_is_there_is_given_with_its_path() -> None:
    """Nothing is skipped."""
    assert requirements.require_program("sh").endswith("/sh")

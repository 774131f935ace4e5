"""Passwords are named in plans, never held: they are looked up when a login needs them."""

from __future__ import annotations

import os
from pathlib import Path

from telemark.errors import RequirementError


def read_secret(env: str | None, file: str | None, what: str = "password") -> str:
    """The secret itself, for one login; never kept, never part of a message.

    Args:
        env: environment variable that holds it.
        file: file whose first line is it, when there is no variable.
        what: what messages call it.
    """
    if env:
        value = os.environ.get(env)
        if value is None:
            raise RequirementError(f"{what}: environment variable {env} is not set", hint=f"export {env}=...")
        return value
    try:
        return Path(file or "").read_text(encoding="utf-8").splitlines()[0]
    except (OSError, UnicodeDecodeError, IndexError) as error:
        raise RequirementError(f"{what}: no first line in file {file}: {error}") from error

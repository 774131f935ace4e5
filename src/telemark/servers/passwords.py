"""Passwords are named in plans, never held: they are looked up when a login needs them."""

from __future__ import annotations

import os
from pathlib import Path

from telemark.errors import RequirementError
from telemark.model.plan import Secret


def reveal(secret: Secret | None) -> str | None:
    """The secret itself, for one login; never kept."""
    if secret is None:
        return None
    if secret.env:
        value = os.environ.get(secret.env)
        if value is None:
            raise RequirementError(f"the environment variable {secret.env} (password_env) is not set")
        return value
    try:
        return Path(secret.file or "").read_text().splitlines()[0]
    except (OSError, IndexError) as error:
        raise RequirementError(f"no password in {secret.file} (password_file): {error}") from error

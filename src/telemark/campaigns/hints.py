"""Advice that is worth giving once a day, not after every run."""

from __future__ import annotations

import time
from pathlib import Path

from telemark.host.cache import cache_folder

AGAIN_AFTER_S = 24 * 3600


def calibration_hint(problem: str | None, fingerprint: str, folder: Path | None = None) -> str | None:
    """What to do about a missing calibration; None when there is no problem or this host was told today.

    Args:
        problem: why there is no calibration.
        fingerprint: of the host.
        folder: where it is noted that the hint was given; the user's cache when None.
    """
    note = (folder or cache_folder()) / "hints" / f"calibration-{fingerprint}"
    if problem is None or _told_today(note):
        return None
    return f"hint: {problem}; `telemark calibrate` (two minutes) lets every run say how much room the engine had"


def _told_today(note: Path) -> bool:
    """Whether the hint was given within a day; if not, it is noted that it is given now."""
    try:
        if note.exists() and time.time() - note.stat().st_mtime < AGAIN_AFTER_S:
            return True
        note.parent.mkdir(parents=True, exist_ok=True)
        note.touch()
    except OSError:
        pass  # a cache that cannot be written must not silence the hint
    return False

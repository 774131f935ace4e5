"""profile.json: where a run's busiest server thread spent its time, or why that is not known.

It lies in the run folder of a run with `--profile-threads`. Stacks are folded: each different stack once, from the
outermost function to the innermost, with the number of samples that found it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal

from telemark.store.atomic import write_atomically
from telemark.store.documents.reading import Problem, read_document

PROFILE_FILE: Final = "profile.json"
MOST_STACKS: Final = 2_000
MOST_FRAMES: Final = 100  # of one stack; the innermost are kept
LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class Stack:
    """One way to a function, and how often a sample found it."""

    frames: tuple[str, ...]  # outermost first
    samples: int


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """The profile of one thread."""

    thread_id: int | None = None
    thread_name: str = ""
    seconds: float = 0.0
    samples: int = 0  # all of them, also those of stacks that were left out
    stacks: tuple[Stack, ...] = ()
    problem: str | None = None  # why there is no profile
    format: Literal[1] = 1

    def write(self, run: Path) -> None:
        """Write it into the run folder."""
        write_atomically(run / PROFILE_FILE, json.dumps(asdict(self), separators=(",", ":")))


def read_profile(run: Path) -> ProfileFile | Problem | None:
    """The profile of a run; None when none was asked for."""
    path = run / PROFILE_FILE
    if not path.exists() and not path.is_symlink():
        return None
    found = read_document(path, ProfileFile)
    if isinstance(found, Problem):
        return found
    bounded = len(found.stacks) <= MOST_STACKS and all(
        len(stack.frames) <= MOST_FRAMES and stack.samples > 0 for stack in found.stacks
    )
    return found if bounded else Problem(f"{path.name}: more stacks or frames than a profile has")

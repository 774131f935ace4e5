"""results/analysed/RUN.json: the pipeline's note about one run, written last."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from telemark.store.documents.reading import Problem, decode, read_document

ANALYSED: Final = "analysed"  # folder of the notes: the presence of a note says that a run's tables are there


@dataclass(frozen=True, slots=True)
class Analysed:
    """A run's tables are there, or why they are not."""

    run: str
    version: int  # RESULTS_VERSION of the pipeline that wrote them
    source: str  # fingerprint of the run.json they were made from
    problem: str | None = None

    def as_json(self) -> str:
        """Text of the note."""
        return json.dumps(asdict(self), ensure_ascii=False) + "\n"

    @classmethod
    def parse(cls, text: str | bytes) -> Analysed | None:
        """The note, or None when it cannot be understood: then the run counts as not analysed."""
        return _known(decode(text, cls, ANALYSED))

    @classmethod
    def read(cls, path: Path) -> Analysed | None:
        """The note in a file of this host; None when there is none or it cannot be understood."""
        return _known(read_document(path, cls))


def _known(found: Analysed | Problem) -> Analysed | None:
    return None if isinstance(found, Problem) else found

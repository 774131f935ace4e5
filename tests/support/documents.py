"""The command blocks of README and guides, as data.

A fenced block without a language, or with `sh`, holds commands. What stands behind the language says why a block cannot
run on one machine without its reader's help:

    ```sh needs: several machines
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]
_BLOCK = re.compile(r"^```(\w*)[ \t]*([^\n]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Command:
    """One command as it is written, over several lines if it is."""

    text: str
    needs: str  # what the reader must have; empty when the block runs as it is

    @property
    def words(self) -> list[str]:
        """Without comments."""
        return shlex.split(self.text, comments=True)

    @property
    def is_ours(self) -> bool:
        """Whether it may run in a test: a command of this project, or a variable for one."""
        return self.words[0] in ("telemark", "make", "export")

    @property
    def name(self) -> str:
        """`telemark run`, `make`, `export`."""
        words = self.words
        return " ".join(words[:2]) if words[0] == "telemark" else words[0]


def commands_of(page: Path) -> list[Command]:
    """Every command of the page, in order.

    Raises:
        ValueError: what follows a block's language is not `needs: REASON`.
    """
    found = []
    for language, remark, block in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if remark and not remark.startswith("needs: "):
            raise ValueError(f"{page.name}: ```{language} {remark}: expected `needs: REASON`")
        if language in ("", "sh"):
            lines = re.sub(r"\\\n\s*", "", block).splitlines()
            found += [Command(line, remark.removeprefix("needs: ")) for line in lines if line.strip()]
    return found

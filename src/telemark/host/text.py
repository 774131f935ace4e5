"""Text of strangers on a terminal: what would steer it is written out instead."""

from __future__ import annotations


def visible(text: object) -> str:
    r"""The text with control characters, directions of writing and half characters as escapes (`\x1b`).

    Lines stay lines. Everything that a folder, a server or a file name says goes through here before it is printed.
    """
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode() for char in str(text)
    )

"""`telemark` as the documentation calls it, made small by the environment variable TELEMARK_DOCS_SHORT.

Only sizes change: fewer devices, lower rates, shorter phases, fewer repeats. Without the variable it is `telemark`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

VARIABLE = "TELEMARK_DOCS_SHORT"
FEWER = 10  # times
RATE = 200  # messages a second at most
VALUES = 3  # of a sweep at most
# These cases judge a steady state or a backlog on five full seconds: shorter runs of them would have no verdict.
STEADY = ("scalagent", "messagesight/FANIN")
STEADY_S = "5.5"
ALWAYS = {
    "run": {"--duration": "2"},
    "load": {"--duration": "1"},
    "search": {"--start-rate": "100", "--max-rate": "100"},
}


def shorten(words: list[str]) -> list[str]:
    """The command with smaller numbers; commands that start no load stay as they are."""
    if not words or words[0] not in ALWAYS:
        return words
    given = [_smaller(option, value) for option, value in zip(["", *words], words, strict=False)]
    for option, value in _always(words):
        if option in given:
            given[given.index(option) + 1] = value
        else:
            given += [option, value]
    return given


def _always(words: list[str]) -> Iterator[tuple[str, str]]:
    for option, value in ALWAYS[words[0]].items():
        steady = option == "--duration" and words[1].startswith(STEADY)
        yield option, STEADY_S if steady else value


def _smaller(option: str, value: str) -> str:
    """The value of an option, made small; everything else is returned as it is."""
    if option == "--size":
        return "quick"
    if option == "--publishers":
        return ",".join(str(int(each) // FEWER) for each in value.split(",")[:VALUES])
    if option == "--rate":
        return str(min(int(value), RATE))
    return "2" if option == "--repeat" else value


if __name__ == "__main__":
    from telemark.cli.main import main

    main(shorten(sys.argv[1:]) if os.environ.get(VARIABLE) else sys.argv[1:])

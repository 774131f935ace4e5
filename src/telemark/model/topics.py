"""Which subscriptions a publisher's topics match: a trie of filters, walked level by level.

Topics are patterns. A level is expanded only when a filter asks for its text, so that `system{index/1000}/#` settles a
publisher's audience at the first level, whatever its later levels do with `{sequence}`.
"""

from __future__ import annotations

from telemark.errors import ConfigError
from telemark.model.pattern import Pattern, parse

Leaves = tuple[int, ...]


class _Node:
    """One level of the filters: literal children, the `+` child, and what ends here or in `#` here."""

    __slots__ = ("children", "ends", "hashes", "plus")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.plus: _Node | None = None
        self.ends: list[int] = []
        self.hashes: list[int] = []


class FilterTrie:
    """Topic filters, each with a number (its leaf)."""

    def __init__(self) -> None:
        self._root = _Node()

    def add(self, topic_filter: str, leaf: int) -> None:
        """Add one filter, without its `$share/name/`."""
        node = self._root
        for level in topic_filter.split("/"):
            if level == "#":
                node.hashes.append(leaf)
                return
            if level == "+":
                node.plus = node.plus or _Node()
                node = node.plus
            else:
                node = node.children.setdefault(level, _Node())
        node.ends.append(leaf)

    def match(self, topic: str) -> Leaves:
        """Leaves whose filter matches a topic name."""
        return self.matcher(topic.replace("{", "{{").replace("}", "}}")).leaves(0)

    def matcher(self, topic_pattern: str) -> TopicMatcher:
        """A matcher for all topics of one pattern."""
        return TopicMatcher(self._root, topic_pattern)


class TopicMatcher:
    """Matches the topics of one publisher after another. All topics of one publisher must reach the same filters."""

    def __init__(self, root: _Node, topic_pattern: str) -> None:
        self._root = root
        self._text = topic_pattern
        pattern = parse(topic_pattern)
        self._levels = pattern.levels()
        self._changing = [level.uses("sequence") for level in self._levels]
        self._cycle = pattern.sequence_cycle()

    def leaves(self, index: int) -> Leaves:
        """Leaves matched by the publisher with this index, in ascending order.

        Raises:
            ConfigError: its topics reach different subscribers from one message to the next.
        """
        found: list[int] = []
        if self._walk(self._root, 0, index, None, found):
            return tuple(sorted(found))
        return self._over_all_messages(index)

    def _walk(self, node: _Node, depth: int, index: int, sequence: int | None, found: list[int]) -> bool:
        """Collect matches below a node for one message, or (None) for all of them.

        False: asked about all messages, and the answer may differ between them.
        """
        wild = depth > 0 or not self._starts_with_dollar(index)
        if wild and node.hashes:
            found.extend(node.hashes)
        if depth == len(self._levels):
            found.extend(node.ends)
            return True
        settled = True
        if wild and node.plus is not None:
            settled = self._walk(node.plus, depth + 1, index, sequence, found)
        if node.children and settled:
            if sequence is None and self._changing[depth]:
                return False
            child = node.children.get(self._levels[depth].expand(index, sequence or 0))
            if child is not None:
                settled = self._walk(child, depth + 1, index, sequence, found)
        return settled

    def _starts_with_dollar(self, index: int) -> bool:
        """Wildcards at the first level never match topics such as $SYS (MQTT 5 section 4.7.2)."""
        first: Pattern = self._levels[0]
        return bool(first.parts) and first.expand(index).startswith("$")

    def _over_all_messages(self, index: int) -> Leaves:
        if self._cycle is None:
            raise self._differs("never repeats")
        answers = set()
        for sequence in range(self._cycle):
            found: list[int] = []
            self._walk(self._root, 0, index, sequence, found)
            answers.add(tuple(sorted(found)))
        if len(answers) > 1:
            raise self._differs("reaches other subscribers from one message to the next")
        return answers.pop()

    def _differs(self, what: str) -> ConfigError:
        return ConfigError(
            f"topic {self._text!r} {what}: who is owed its messages cannot be recorded",
            hint="subscribe above the level with {sequence}, or use one publisher per topic",
        )

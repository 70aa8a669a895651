"""The topic exchange: words between dots, `*` for exactly one, `#` for any number of them (AMQP §3.1.3.3).

A pattern is cut at its `#`s. The words before the first are in a trie; the words after the last are in a second one,
read from the end, at whose ends the parts in between are kept. So there is no backtracking and no recursion: a match
takes no more steps than bindings times words in the key, whatever the patterns.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pybroker.core.exchange.trie import Trie, Words
from pybroker.core.routing.exchange import Destinations, Exchange, count_down, count_up

if TYPE_CHECKING:
    from pybroker.core.routing.binding import Binding

# Recent keys and what they found, forgotten at any change: finding costs microseconds, remembering a tenth of one.
RECENT_KEYS_MAX: Final = 4_096
# And what they found, all together: 4,096 keys that reach a thousand queues each would be 150 MB.
RECENT_FOUND_MAX: Final = 131_072


class Between:
    """Words that must be found between `#`s, in this order: one bit a word, all places tried at once (shift-and)."""

    __slots__ = ("_anywhere", "_last", "_loops", "_masks", "destinations")

    def __init__(self, parts: tuple[Words, ...]) -> None:
        self.destinations: Destinations = {}
        self._masks: dict[str, int] = {}
        self._anywhere = 0
        self._loops = 0
        bit = 1
        for part in parts:
            self._loops |= bit  # a `#` stands before it
            for word in part:
                if word == "*":
                    self._anywhere |= bit
                else:
                    self._masks[word] = self._masks.get(word, 0) | bit
                bit <<= 1
        self._last = bit

    def found_in(self, words: Words) -> bool:
        """Tell whether all parts are found in these words."""
        reached = 1
        for word in words:
            fitting = self._masks.get(word, 0) | self._anywhere
            reached = ((reached & fitting) << 1) | (reached & self._loops)
            if reached & self._last:
                return True
        return False


class Tail:
    """Patterns that end alike. `destinations` need no more; the others, by their first word, something in between."""

    __slots__ = ("between", "destinations")

    def __init__(self) -> None:
        self.destinations: Destinations = {}
        self.between: dict[str, dict[tuple[Words, ...], Between]] = {}


class Head:
    """Patterns that begin alike: those that end there, and those that go on after a `#`."""

    __slots__ = ("destinations", "tails")

    def __init__(self) -> None:
        self.destinations: Destinations = {}
        self.tails: Trie[Tail] | None = None


def find_behind(tails: Trie[Tail], words: Words, out: Destinations) -> None:
    """Add the destinations of patterns that go on after a `#`, for the words that are left of the key."""
    for length, tail in tails.walk(words[::-1]):
        if tail.destinations:
            out.update(tail.destinations)
        if tail.between:
            middle = words[: len(words) - length]
            for word in set(middle):
                for between in tail.between.get(word, {}).values():
                    if between.found_in(middle):
                        out.update(between.destinations)


class TopicExchange(Exchange):
    """Bindings by their patterns, cut up as above."""

    TYPE: ClassVar[str] = "topic"

    __slots__ = ("_heads", "_recent", "_recent_found")

    def match(
        self,
        routing_key: str,
        headers: Mapping[str, Any] | None,  # noqa: ARG002 - one signature for all types
        out: Destinations,
    ) -> None:
        """Add the destinations of every pattern that fits the key."""
        found = self._recent.get(routing_key)
        if found is None:
            found = self._find(split_words(routing_key))
            if len(self._recent) >= RECENT_KEYS_MAX or self._recent_found > RECENT_FOUND_MAX:
                self._forget_recent()
            self._recent_found += len(found)
            self._recent[routing_key] = found
        out.update(found)

    def _find(self, words: Words) -> Destinations:
        out: Destinations = {}
        for length, head in self._heads.walk(words):
            if length == len(words):
                out.update(head.destinations)
            if head.tails is not None:
                find_behind(head.tails, words[length:], out)
        return out

    def _open_index(self) -> None:
        self._heads: Trie[Head] = Trie()
        self._forget_recent()

    def _forget_recent(self) -> None:
        self._recent: dict[str, Destinations] = {}
        self._recent_found = 0

    def _attach(self, binding: "Binding") -> None:
        self._forget_recent()
        before, behind = cut(split_words(binding.routing_key))
        head = self._heads.get(before)
        if head is None:
            head = Head()
            self._heads.put(before, head)
        if behind is None:
            count_up(head.destinations, binding.destination)
            return
        if head.tails is None:
            head.tails = Trie()
        parts, after = behind
        tail = head.tails.get(after)
        if tail is None:
            tail = Tail()
            head.tails.put(after, tail)
        if not parts:
            count_up(tail.destinations, binding.destination)
            return
        alike = tail.between.setdefault(parts[0][0], {})
        if parts not in alike:
            alike[parts] = Between(parts)
        count_up(alike[parts].destinations, binding.destination)

    def _detach(self, binding: "Binding") -> None:
        self._forget_recent()
        before, behind = cut(split_words(binding.routing_key))
        head = self._heads.get(before)
        assert head is not None, "an attached binding has its place"
        if behind is None:
            count_down(head.destinations, binding.destination)
        else:
            self._detach_behind(head, behind, binding)
        if not head.destinations and head.tails is None:
            self._heads.drop(before)

    def _detach_behind(self, head: Head, behind: "tuple[tuple[Words, ...], Words]", binding: "Binding") -> None:
        parts, after = behind
        tail = None if head.tails is None else head.tails.get(after)
        assert head.tails is not None, "an attached binding has its place"
        assert tail is not None, "likewise"
        if not parts:
            count_down(tail.destinations, binding.destination)
        else:
            alike = tail.between[parts[0][0]]
            count_down(alike[parts].destinations, binding.destination)
            if not alike[parts].destinations:
                del alike[parts]
            if not alike:
                del tail.between[parts[0][0]]
        if not tail.destinations and not tail.between:
            head.tails.drop(after)
            if not head.tails:
                head.tails = None


def split_words(routing_key: str) -> Words:
    """Split at dots; the empty key has no words at all, `.` has two empty ones (rabbit_exchange_type_topic)."""
    return tuple(routing_key.split(".")) if routing_key else ()


def cut(words: Words) -> "tuple[Words, tuple[tuple[Words, ...], Words] | None]":
    """Return the words before the first `#`, and (the parts in between, the words after the last `#`, from the end).

    `#.#` equals `#`, and `#.*` equals `*.#`: the `*`s of a run go to its front, so no part in between begins with one.
    """
    parts: list[list[str]] = [[]]
    many = False
    for word in words:
        if word == "#":
            many = True
            continue
        if many and word != "*":
            parts.append([])
            many = False
        parts[-1].append(word)
    if many:
        parts.append([])
    before, *behind = map(tuple, parts)
    if not behind:
        return before, None
    return before, (tuple(behind[:-1]), behind[-1][::-1])

"""The topic exchange: words between dots, `*` for exactly one, `#` for any number of them (AMQP §3.1.3.3).

Patterns live in a trie. A key is matched by walking all branches at once, word by word, as a set of nodes: at most
words times nodes steps, no recursion, no backtracking, whatever the patterns.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pybroker.core.exchange.exchange import Destinations, Exchange, count_down, count_up

if TYPE_CHECKING:
    from pybroker.core.binding import Binding

# Recent keys and what they found, forgotten at any change: a walk costs microseconds, a look-up a tenth of one.
RECENT_KEYS_MAX: Final = 1_024


class Node:
    """One word of a pattern. `many` is the child behind `#`; that child `loops`: it stays for any further word."""

    __slots__ = ("destinations", "loops", "many", "one", "words")

    def __init__(self, *, loops: bool = False) -> None:
        self.words: dict[str, Node] = {}
        self.one: Node | None = None
        self.many: Node | None = None
        self.loops = loops
        self.destinations: Destinations = {}

    @property
    def empty(self) -> bool:
        """Tell whether nothing ends here or goes on from here."""
        return not (self.destinations or self.words or self.one or self.many)


def split_words(routing_key: str) -> list[str]:
    """Split at dots; the empty key has no words at all, `.` has two empty ones (rabbit_exchange_type_topic)."""
    return routing_key.split(".") if routing_key else []


def normal_form(words: list[str]) -> list[str]:
    """Return an equal pattern in which every run of wildcards is `*`s, then at most one `#`.

    `#.#` equals `#`, and `#.*` equals `*.#`: so no node behind `#` has a wildcard child, and a set of nodes grows by at
    most one `#` node for each node reached.
    """
    out: list[str] = []
    many = False
    for word in words:
        if word == "#":
            many = True
        elif word == "*":
            out.append(word)
        else:
            if many:
                out.append("#")
                many = False
            out.append(word)
    if many:
        out.append("#")
    return out


class TopicExchange(Exchange):
    """Bindings in a trie of pattern words."""

    TYPE: ClassVar[str] = "topic"

    __slots__ = ("_recent", "_root")

    def match(
        self,
        routing_key: str,
        headers: Mapping[str, Any] | None,  # noqa: ARG002 - one signature for all types
        out: Destinations,
    ) -> None:
        """Add the destinations of every pattern that the key matches."""
        found = self._recent.get(routing_key)
        if found is None:
            found = walk(self._root, split_words(routing_key))
            if len(self._recent) >= RECENT_KEYS_MAX:
                self._recent.clear()
            self._recent[routing_key] = found
        out.update(found)

    def _open_index(self) -> None:
        self._root = Node()
        self._recent: dict[str, Destinations] = {}

    def _attach(self, binding: "Binding") -> None:
        node = self._root
        for word in normal_form(split_words(binding.routing_key)):
            node = child(node, word, make=True)
        count_up(node.destinations, binding.destination)
        self._recent.clear()

    def _detach(self, binding: "Binding") -> None:
        words = normal_form(split_words(binding.routing_key))
        path = [self._root]
        for word in words:
            path.append(child(path[-1], word, make=False))
        count_down(path[-1].destinations, binding.destination)
        self._recent.clear()
        while words and path[-1].empty:
            path.pop()
            drop_child(path[-1], words.pop())


def child(node: Node, word: str, *, make: bool) -> Node:
    """Return the child for one word of a pattern; with `make` it is made if missing, else it must be there."""
    if word == "*":
        found = node.one
    elif word == "#":
        found = node.many
    else:
        found = node.words.get(word)
    if found is None:
        assert make, "an attached binding has a path"
        found = Node(loops=word == "#")
        if word == "*":
            node.one = found
        elif word == "#":
            node.many = found
        else:
            node.words[word] = found
    return found


def drop_child(node: Node, word: str) -> None:
    """Cut off the child for one word of a pattern."""
    if word == "*":
        node.one = None
    elif word == "#":
        node.many = None
    else:
        del node.words[word]


def walk(root: Node, words: list[str]) -> Destinations:
    """Return the destinations of all patterns that match `words`."""
    nodes: dict[Node, None] = {root: None}
    if root.many is not None:
        nodes[root.many] = None
    for word in words:
        reached: dict[Node, None] = {}
        for node in nodes:
            if node.loops:
                reached[node] = None
            found = node.words.get(word)
            if found is not None:
                reached[found] = None
                if found.many is not None:
                    reached[found.many] = None
            found = node.one
            if found is not None:
                reached[found] = None
                if found.many is not None:
                    reached[found.many] = None
        if not reached:
            return {}
        nodes = reached
    out: Destinations = {}
    for node in nodes:
        if node.destinations:
            out.update(node.destinations)
    return out

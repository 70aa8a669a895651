"""Trie: patterns of words, where `*` fits any one word, and what is kept at the end of each.

A node without branches keeps the rest of its only pattern, so that a long pattern costs one node and one comparison. Of
`#`, of keys and of bindings nothing is known here.
"""

from typing import Generic, TypeAlias, TypeVar

Words: TypeAlias = tuple[str, ...]
End = TypeVar("End")


class Node(Generic[End]):
    """Either `rest` is the remainder of the only pattern below, or there are branches; `end` is what is kept here."""

    __slots__ = ("end", "one", "rest", "words")

    def __init__(self, rest: Words = (), end: End | None = None) -> None:
        self.words: dict[str, Node[End]] | None = None
        self.one: Node[End] | None = None
        self.rest = rest
        self.end = end

    @property
    def empty(self) -> bool:
        """Tell whether nothing is kept here or below."""
        return self.end is None and not self.words and self.one is None

    def child(self, word: str) -> "Node[End] | None":
        """Return the branch of one word of a pattern."""
        if word == "*":
            return self.one
        return None if self.words is None else self.words.get(word)

    def grow(self, word: str, child: "Node[End]") -> None:
        """Add the branch of one word of a pattern."""
        if word == "*":
            self.one = child
        elif self.words is None:
            self.words = {word: child}
        else:
            self.words[word] = child

    def prune(self, word: str) -> None:
        """Cut the branch of one word of a pattern off."""
        if word == "*":
            self.one = None
        elif self.words is not None:
            del self.words[word]

    def branch(self) -> None:
        """Move the rest of the only pattern into a branch of its own."""
        if self.rest:
            self.grow(self.rest[0], Node(self.rest[1:], self.end))
            self.rest, self.end = (), None


class Trie(Generic[End]):
    """Patterns and what is kept for each. No call recurses; `walk` visits each node once at most."""

    __slots__ = ("_root",)

    def __init__(self) -> None:
        self._root: Node[End] = Node()

    def __bool__(self) -> bool:
        return not self._root.empty

    def get(self, pattern: Words) -> End | None:
        """Return what is kept for exactly this pattern."""
        node: Node[End] | None = self._root
        for at in range(len(pattern) + 1):
            if node is None:
                return None
            if node.rest:
                return node.end if node.rest == pattern[at:] else None
            if at < len(pattern):
                node = node.child(pattern[at])
        return None if node is None else node.end

    def put(self, pattern: Words, end: End) -> None:
        """Keep something for a pattern that has nothing yet."""
        node = self._root
        for at, word in enumerate(pattern):
            node.branch()
            child = node.child(word)
            if child is None:
                node.grow(word, Node(pattern[at + 1 :], end))
                return
            node = child
        node.branch()
        node.end = end

    def drop(self, pattern: Words) -> None:
        """Forget what is kept for a pattern, and the branches that led to nothing else."""
        path = [self._root]
        for word in pattern:
            if path[-1].rest:
                break
            child = path[-1].child(word)
            assert child is not None, "only what was put is dropped"
            path.append(child)
        path[-1].end, path[-1].rest = None, ()
        while len(path) > 1 and path[-1].empty:
            path.pop()
            path[-1].prune(pattern[len(path) - 1])

    def walk(self, words: Words) -> list[tuple[int, End]]:
        """Return (length, what is kept) of each pattern that fits the first `length` of these words."""
        out: list[tuple[int, End]] = []
        nodes, reached = [self._root], 0
        for word in words:
            following = []
            for node in nodes:
                end = node.end
                if end is not None:
                    rest = node.rest
                    if rest:
                        stop = reached + len(rest)
                        if fits(rest, words[reached:stop]):
                            out.append((stop, end))
                        continue
                    out.append((reached, end))
                branches = node.words
                if branches is not None:
                    found = branches.get(word)
                    if found is not None:
                        following.append(found)
                one = node.one
                if one is not None:
                    following.append(one)
            if not following:
                return out
            nodes = following
            reached += 1
        out.extend((reached, node.end) for node in nodes if node.end is not None and not node.rest)
        return out


def fits(pattern: Words, words: Words) -> bool:
    """Tell whether a pattern fits these words, all of them."""
    if pattern == words:
        return True
    if len(pattern) != len(words):
        return False
    return all(wanted in ("*", word) for wanted, word in zip(pattern, words, strict=True))

"""Groups of consumers of a stream of which a single one is active ([rmq single active consumer]).

Consumers of one stream with one name are a group. Of a stream alone the one that came first is active; of a super
stream's partition the one whose place is the partition's number modulo the members, so that the partitions spread over
them. One that was active is asked to step down, and the next one begins when it has answered: no message is given to
both. Does not know how consumers are asked.
"""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.core.stream.stream import Stream


class Member(Protocol):
    """A consumer in a group."""

    def activate(self) -> None:
        """Begin, at the offset that the peer answers with."""

    def step_down(self) -> None:
        """Stop, and call the group's `stepped_down` when the peer has answered."""


class Group:
    """`members` stand in the order they came in. `active` is one of them, or None while `stepping_down` has to answer.

    `partition` is the number of the stream in its super stream; None: it is alone.
    """

    __slots__ = ("active", "members", "partition", "stepping_down")

    def __init__(self, partition: int | None = None) -> None:
        self.partition = partition
        self.members: list[Member] = []
        self.active: Member | None = None
        self.stepping_down: Member | None = None

    def join(self, member: Member) -> None:
        """Add a consumer."""
        self.members.append(member)
        self.elect()

    def leave(self, member: Member) -> None:
        """Remove a consumer, which has gone."""
        self.members.remove(member)
        if member is self.active:
            self.active = None
        if member is self.stepping_down:
            self.stepping_down = None
        self.elect()

    def stepped_down(self, member: Member) -> None:
        """Learn that a consumer has stopped."""
        if member is self.stepping_down:
            self.stepping_down = None
            self.elect()

    def elect(self) -> None:
        """Have the right one active, when the one that was has stopped."""
        members = self.members
        if self.stepping_down is not None or not members:
            return
        wanted = self.active or members[0] if self.partition is None else members[self.partition % len(members)]
        if wanted is self.active:
            return
        if self.active is not None:
            self.stepping_down, self.active = self.active, None
            self.stepping_down.step_down()
        else:
            self.active = wanted
            wanted.activate()


class Groups:
    """All groups of a node, by stream and name; one without members is forgotten."""

    __slots__ = ("_groups",)

    def __init__(self) -> None:
        self._groups: dict[tuple[Stream, str], Group] = {}

    def group(self, stream: "Stream", name: str, partition: int | None = None) -> Group:
        """Return a group, which is made for its first consumer; the first one's partition counts."""
        group = self._groups.get((stream, name))
        if group is None:
            group = self._groups[stream, name] = Group(partition)
        return group

    def leave(self, stream: "Stream", name: str, member: Member) -> None:
        """Remove a consumer that has gone."""
        group = self._groups[stream, name]
        group.leave(member)
        if not group.members:
            del self._groups[stream, name]

    def find(self, stream: "Stream", name: str) -> Group | None:
        """Return a group; None if there is none."""
        return self._groups.get((stream, name))

    def __iter__(self) -> "Iterator[tuple[Stream, str, Group]]":
        return ((stream, name, group) for (stream, name), group in self._groups.items())

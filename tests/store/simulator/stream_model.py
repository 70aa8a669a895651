"""The model of a stream: what was published, confirmed and read, and what a start must therefore find."""

from typing import TYPE_CHECKING, Any

from tests.store.simulator.violation import Violation

if TYPE_CHECKING:
    from tests.store.simulator.model import Call
    from tests.store.simulator.streams import Contents


class Sent:
    """A message that was published."""

    __slots__ = ("_offset", "body", "call", "number", "publisher")

    def __init__(self, number: int, body: bytes, call: "Call", offset: int, publisher: str) -> None:
        self.number = number
        self.body = body
        self.call = call
        self._offset = offset
        self.publisher = publisher

    @property
    def offset(self) -> int:
        """Return where it is; -1 if the call ended with an exception, so that nobody knows."""
        return -1 if self.call.raised else self._offset


def number_of(body: bytes) -> int:
    """Return the number of a message, by which it is known in all lives."""
    return int(body.split(b".", 1)[0])


class StreamModel:
    """`sent` has the messages of this life, and those that the last start found, by number; `lost` what it did not.

    `seen` has numbers by the offsets that a reader knows. The oldest message may have an offset up to `floor_max`, and
    has at least `floor`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.sent: dict[int, Sent] = {}
        self.lost: dict[int, Sent] = {}
        self.seen: dict[int, int] = {}
        self.publishers: dict[str, int] = {}  # as a start found them
        self.floor = self.floor_max = 0

    def read(self, bodies: dict[int, bytes]) -> None:
        """Note what a reader got: it must be what was published there, now and for ever."""
        for offset, body in bodies.items():
            number = number_of(body)
            sent = self.sent.get(number)
            if sent is None or sent.body != body:
                raise Violation("stream phantom", f"{self.name}: message {number} at {offset} was never published")
            if sent.offset not in {-1, offset}:
                raise Violation("stream order", f"{self.name}: message {number} is at {offset}, not {sent.offset}")
            if self.seen.setdefault(offset, number) != number:
                raise Violation("stream changed", f"{self.name}: {offset} was {self.seen[offset]}, and is {number}")

    def check(self, found: "Contents", completed: int, seen: "dict[object, set[bool]]") -> None:
        """Compare what a start found with what was promised when `completed` was the log's last position."""
        name, first = self.name, found.first_offset
        if not self.floor <= first <= max(self.floor_max, self.floor):
            text = f"{name} begins at {first}, and should between {self.floor} and {self.floor_max}"
            raise Violation("stream floor", text)
        if list(found.bodies) != list(range(first, found.next_offset)):
            raise Violation("stream gap", f"{name}: {first} to {found.next_offset}, there are {list(found.bodies)}")
        numbers = {number_of(body): offset for offset, body in found.bodies.items()}
        if len(numbers) != len(found.bodies):
            raise Violation("stream twice", f"{name}: {[number_of(body) for body in found.bodies.values()]}")
        for number, sent in self.sent.items():
            offset = numbers.pop(number, None)
            self._check_one(number, sent, offset, found, completed, seen)
        if numbers:
            raise Violation("stream phantom", f"{name} has {sorted(numbers)[:5]}, which never were there")
        for offset, number in self.seen.items():
            if offset >= first and (offset not in found.bodies or number_of(found.bodies[offset]) != number):
                raise Violation("stream taken back", f"{name}: message {number} was read at {offset}")
        self._check_publishers(found)

    def _check_one(
        self,
        number: int,
        sent: Sent,
        offset: int | None,
        found: "Contents",
        completed: int,
        seen: "dict[object, set[bool]]",
    ) -> None:
        call = sent.call
        if offset is not None:
            if found.bodies[offset] != sent.body:
                raise Violation("stream phantom", f"{self.name}: message {number} has another body")
            if sent.offset not in {-1, offset}:
                raise Violation("stream order", f"{self.name}: message {number} is at {offset}, not {sent.offset}")
        elif 0 <= sent.offset < found.first_offset or (sent.offset < 0 and found.first_offset):
            return  # too old, or nobody knows
        if call.commit_position <= completed and not call.raised:
            if offset is None:
                text = f"message {number} at {sent.offset}, batch {call.commit_position} of {completed} completed"
                raise Violation("stream lost", f"{self.name}: {text}")
        else:
            seen.setdefault(call if call.raised else call.commit_position, set()).add(offset is not None)

    def _check_publishers(self, found: "Contents") -> None:
        """A publisher's id is there with its last message, or neither."""
        last = dict(self.publishers)
        for body in found.bodies.values():
            sent = self.sent[number_of(body)]
            if sent.publisher:
                last[sent.publisher] = max(last.get(sent.publisher, 0), sent.number)
        for publisher in last.keys() | found.publishers.keys():
            known, expected = found.publishers.get(publisher, 0), last.get(publisher, 0)
            gone = found.first_offset and known > expected
            if known != expected and not gone:
                text = f"{self.name}: publisher {publisher} is known by {known}, its last message is {expected}"
                raise Violation("stream publisher", text)

    def begin(self, found: "Contents", before: "Call") -> None:
        """Go on with what a start has found."""
        sent: dict[int, Sent] = {}
        for offset, body in found.bodies.items():
            was = self.sent[number_of(body)]
            sent[was.number] = Sent(was.number, body, before, offset, was.publisher)
        self.lost = {number: each for number, each in self.sent.items() if number not in sent}
        self.sent = sent
        self.seen = {offset: number for offset, number in self.seen.items() if offset >= found.first_offset}
        self.publishers = dict(found.publishers)
        self.floor = self.floor_max = found.first_offset


def check_streams(
    models: dict[int, StreamModel], found: "dict[int, Contents]", completed: int, seen: dict[object, set[Any]]
) -> None:
    """Compare what a start found of all streams with what was promised."""
    if strange := found.keys() - models.keys():
        raise Violation("stream phantom", f"streams {sorted(strange)}, which never were declared")
    for stream_id, contents in found.items():
        models[stream_id].check(contents, completed, seen)

"""Traffic of streams: clients publish entries and contents and read, operators truncate, declare and delete."""

import random
from typing import TYPE_CHECKING, Any

from pybroker.core.channel.receipt import Receipt
from tests.entries import bodies_of, entries_run
from tests.store.journals import body
from tests.store.simulator.stream_model import Sent, StreamModel

if TYPE_CHECKING:
    from pybroker.core.stream.stream import Stream
    from tests.store.simulator.model import Call, Model
    from tests.store.simulator.node import Node
    from tests.store.simulator.traffic import Numbers, Traffic

STREAMS_MAX = 2
PUBLISHERS = ("", "", "a", "b")
SIZES = (1, 20, 60, 300, 600)
READ_OCTETS = (1, 400, 1 << 20)


class StreamTraffic:
    """One life's clients of streams."""

    def __init__(
        self, node: "Node", model: "Model", numbers: "Numbers", rng: random.Random, traffic: "Traffic"
    ) -> None:
        assert node.streams is not None
        assert node.log is not None
        self.node = node
        self.side = node.streams
        self.log = node.log
        self.model = model
        self.numbers = numbers
        self.rng = rng
        self.reads = 0  # that were not answered yet
        self._queues = traffic
        ways = (
            (self.publish, 30),
            (self.publish_contents, 8),
            (self.publish_again, 5),
            (self.read, 10),
            (self.move, 5),
            (self.truncate, 3),
            (self.store_offset, 2),
            (self.declare, 3),
            (self.delete, 1),
        )
        self._ways = [way for way, _ in ways]
        self._weights = [weight for _, weight in ways]

    def step(self) -> None:
        """Do one thing at random."""
        if not self.side.streams:
            self.declare()
            return
        (way,) = self.rng.choices(self._ways, self._weights)
        way()

    def note_floors(self) -> None:
        """Note how much retention may remove by now."""
        self.node.fault.look_away()
        for stream_id, stream in self.side.streams.items():
            if stream.limits.octets_max is not None:
                mine = self.model.streams[stream_id]
                mine.floor_max = max(mine.floor_max, stream.files.first_retained(stream.limits.octets_max, None))
        self.node.fault.watch()

    def _stream(self) -> "tuple[Stream, StreamModel]":
        stream_id = self.rng.choice(list(self.side.streams))
        return self.side.streams[stream_id], self.model.streams[stream_id]

    # -- publish -------------------------------------------------------------------------------------------------------

    def publish(self) -> None:
        stream, mine = self._stream()
        publisher = self.rng.choice(PUBLISHERS)
        if publisher and not stream.tracking.is_ready:
            return
        bodies = {}
        for _ in range(self.rng.choice((1, 1, 2, 4))):
            self.numbers.body += 1
            bodies[self.numbers.body] = b"%d." % self.numbers.body + bytes(self.rng.choice(SIZES))
        self._publish(stream, mine, bodies, publisher)

    def publish_again(self) -> None:
        """Publish what a start did not find, or found: a named publisher does not know."""
        stream, mine = self._stream()
        publisher = self.rng.choice(PUBLISHERS[2:])
        if not stream.tracking.is_ready:
            return
        known = stream.tracking.publisher_id(publisher) or 0
        again = [each for each in mine.lost.values() if each.publisher == publisher and each.number > known]
        if again:
            bodies = {each.number: each.body for each in again}
            self._publish(stream, mine, bodies, publisher)

    def _publish(self, stream: "Stream", mine: StreamModel, bodies: dict[int, bytes], publisher: str) -> None:
        with self.model.call() as call:
            self._note(stream, mine, bodies, call, publisher)
            stream.publish_entries(entries_run(0, *bodies.values()), Receipt())
            if publisher:
                stream.tracking.note_publisher(publisher, max(bodies))
            call.commit_position = self.log.commit_position
        if self.rng.random() < 0.7:
            self.node.want(call.commit_position)

    def _note(
        self, stream: "Stream", mine: StreamModel, bodies: dict[int, bytes], call: "Call", publisher: str = ""
    ) -> None:
        offset = stream.end_offset
        for number, octets in bodies.items():
            mine.lost.pop(number, None)
            mine.sent[number] = Sent(number, octets, call, offset, publisher)
            offset += 1

    def publish_contents(self) -> None:
        """Publish contents as AMQP 0-9-1 has them, now and then to a queue as well."""
        stream, mine = self._stream()
        with self.model.call() as call:
            run = self._queues.run()
            bodies = {int(octets.split(b".")[0]): octets for octets in map(body, run.contents_at(range(run.count)))}
            self._note(stream, mine, bodies, call)
            queues = self._queues.some_queues() if self.rng.random() < 0.4 else ()
            self._queues.note(call, run, range(run.count), queues)
            self.log.append(run, range(run.count), (*queues, stream.id))
            stream.enqueue(run, range(run.count), Receipt())
            call.commit_position = self.log.commit_position
        if self.rng.random() < 0.5:
            self.node.want(call.commit_position)

    # -- read ----------------------------------------------------------------------------------------------------------

    def read(self) -> None:
        stream, mine = self._stream()
        if stream.first_offset >= stream.next_offset:
            return
        self._read(stream, mine, self.rng.randrange(stream.first_offset, stream.next_offset))

    def _read(self, stream: "Stream", mine: StreamModel, offset: int) -> None:
        def done(found: Any) -> None:
            self.reads -= 1
            if not isinstance(found, BaseException):
                read = {run.first_seq + at: each for run in found for at, each in enumerate(bodies_of(run))}
                # The first chunk may begin earlier, with messages that were truncated.
                mine.read({at: each for at, each in read.items() if at >= offset})

        stream.read(offset, self.rng.choice(READ_OCTETS), done)
        self.reads += 1

    def read_all(self) -> None:
        """Read all streams from their beginning."""
        for stream_id, stream in self.side.streams.items():
            self._read(stream, self.model.streams[stream_id], stream.first_offset)

    # -- what operators do ---------------------------------------------------------------------------------------------

    def move(self) -> None:
        stream, _ = self._stream()
        stream.streams.move(stream)

    def truncate(self) -> None:
        stream, mine = self._stream()
        offset = self.rng.randrange(stream.first_offset, stream.next_offset + 1)
        mine.floor_max = max(mine.floor_max, offset)

        def done(error: Any) -> None:
            if error is None:
                mine.floor = max(mine.floor, offset)

        stream.truncate(offset, done)

    def store_offset(self) -> None:
        stream, _ = self._stream()
        if stream.tracking.is_ready:
            stream.tracking.store_offset(self.rng.choice(("c", "d")), stream.next_offset)

    def declare(self) -> None:
        if len(self.side.streams) >= STREAMS_MAX:
            return
        self.numbers.queue += 1
        stream_id = self.numbers.queue
        name = f"s{stream_id}"
        self.model.streams[stream_id] = StreamModel(name)
        self.side.declare(name, stream_id)

    def delete(self) -> None:
        if len(self.side.streams) < 2:
            return
        stream, _ = self._stream()
        self.side.broker.definitions.remove("queue", ("/", stream.name))
        self.side.forget(stream)

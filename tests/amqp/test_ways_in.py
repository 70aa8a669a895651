"""One meaning, two ways in: by the scanner or frame by frame, in one chunk or in many, the effect is the same."""

import random
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from tests.fakes import Basic, Confirm, FakePeer, Queue, Tx, World
from tests.searches import searched, share
from tests.streams import ack, any_streams, cut, props, publish

# Most of an example's time goes into building the rig, twice.
thorough = searched(20, 200)

OCTETS_MAX = 4_096
MESSAGE_MAX = 60_000

QUEUES: dict[str, dict[str, Any]] = {
    "plain": {},
    "short": {"x-max-length": 3, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"},
    "reject": {"x-max-length": 4, "x-overflow": "reject-publish"},
    "octets": {"x-max-length-bytes": 40, "x-overflow": "reject-publish"},
    "prio": {"x-max-priority": 5, "x-max-length": 6},
    "live": {},
    "dead": {},
    "out": {},
}


class Rig:
    """A broker in a known state: channel 1 confirms, 3 is transactional; on 1 and 2 tags wait to be acknowledged."""

    def __init__(self) -> None:
        self.world = World(message_octets_max=MESSAGE_MAX)
        self.peer = self.world.connect(frame_octets_max=OCTETS_MAX)
        peer = self.peer
        for name, arguments in QUEUES.items():
            peer.declare(name, arguments, durable=True)
        for queue, exchange, arguments in (
            ("plain", "amq.fanout", {}),
            ("reject", "amq.fanout", {}),
            ("plain", "amq.headers", {"k": "v"}),
            ("short", "amq.topic", {}),
        ):
            peer.call(Queue.Bind(queue=queue, exchange=exchange, routing_key="a.#", arguments=arguments))
        peer.open(2)
        peer.open(3)
        flood = [f for i in range(16) for f in peer.publish_frames("", "out", b"%d" % i)]
        peer.send(*flood)
        for channel in (1, 2):
            peer.call(Basic.Qos(prefetch_count=8, global_=True), channel)
            peer.consume("out", f"out{channel}", channel=channel)
        for channel in (1, 2):
            assert len(peer.take(channel)) == 8
            peer.call(Basic.Cancel(consumer_tag=f"out{channel}"), channel)
        peer.call(Basic.Qos(prefetch_count=2), 2)
        peer.consume("live", "live", channel=2)
        peer.call(Confirm.Select())
        peer.call(Tx.Select(), 3)

    def feed(self, chunks: list[bytes]) -> None:
        for chunk in chunks:
            self.peer.send_octets(chunk)
            while self.peer.session.input_pending:
                self.peer.send_octets(b"")
        self.world.run()


def told(peer: FakePeer, channel: int) -> tuple[list[Any], dict[int, str]]:
    """Return what came on a channel, and what became of each publish; how confirms are coalesced does not matter."""
    replies: list[Any] = []
    confirms: dict[int, str] = {}
    done = 0
    for reply in peer.take(channel):
        if isinstance(reply, Basic.Ack | Basic.Nack):
            tag = reply.delivery_tag
            for seq in range(done + 1 if reply.multiple else tag, tag + 1):
                assert seq not in confirms, f"publish {seq} answered twice"
                confirms[seq] = reply.name
            done = tag
        elif isinstance(reply, tuple):
            replies.append((reply.method.name, dict(reply.method), dict(reply.properties), reply.body))
        else:
            replies.append((reply.name, dict(reply)))
    return replies, confirms


def effect(rig: Rig) -> dict[str, Any]:
    """Return all that a peer, or another one, could notice of what was fed."""
    session, broker = rig.peer.session, rig.world.broker
    queues = {}
    for name, queue in rig.world.vhost.queues.items():
        ready = [
            (one, entry.deliveries, entry.run.names, entry.run.attributes)
            for level in queue.backlog.levels
            for entry in (*reversed(level.returned), *level.ready)
            for one in entry.run.contents_at(entry.indexes)
        ]
        assert queue.messages_ready == len(ready)
        assert queue.backlog.octets_ready == sum(int.from_bytes(one[0][11:19]) for one in ready)
        counts = (queue.messages_unacknowledged, queue.published, queue.delivered, queue.acked, queue.dropped)
        queues[name] = (ready, counts, queue.expired)
    return {
        "queues": queues,
        "told": {channel: told(rig.peer, channel) for channel in range(10)},
        "unacked": {
            number: [tag for batch in channel.unacked for tag in range(batch.first_tag, batch.last_tag + 1)]
            for number, channel in session.channels.items()
        },
        "session": (session.state, session.finished, session.assembling),
        "closing": {number: channel.closing for number, channel in session.channels.items()},
        "seqs": {number: c.confirms.next_seq for number, c in session.channels.items() if c.confirms is not None},
        "counts": (broker.message_sizes.messages, broker.totals.total("returned"), broker.totals.total("dropped")),
        "exchanges": {name: exchange.publish_in for name, exchange in rig.world.vhost.exchanges.items()},
    }


def no_scan(_data: bytes, start: int, *_: Any) -> int:
    return start


def effect_of(
    chunks: list[bytes], *, scanned: bool = True, in_steps: bool = False, at_a_time: int = 0
) -> dict[str, Any]:
    rig = Rig()
    with pytest.MonkeyPatch.context() as patch:
        if not scanned:
            patch.setattr("pybroker.amqp.input.scan", no_scan)
        if in_steps:
            rig.world.turn.receive_ms = 0
            patch.setattr("pybroker.amqp.input.WORK_MAX", -1)
            patch.setattr("pybroker.amqp.publishing.WORK_MAX", -1)
            patch.setattr("pybroker.amqp.publishing.WIDE_QUEUES", 0)
        if at_a_time:
            rig.world.turn.receive_ms = 0
            patch.setattr("pybroker.amqp.publishing.SLOW_MESSAGES", at_a_time)
        rig.feed(chunks)
    return effect(rig)


LIAR = publish(1, "", "plain", b"1", props(user_id="guest")) + publish(1, "", "plain", b"2", props(user_id="liar"))


@thorough
@given(any_streams)
@example(LIAR + LIAR)
@example(publish(1, "", "plain", b"x", props(reply_to="amq.rabbitmq.reply-to")) * 3)
@example(publish(1, "", "plain", b"x") + publish(1, "", "plain", b"z" * 5_000, piece=5_000))
@example(ack(0, 1))
def test_scanned_or_frame_by_frame_is_the_same(octets):
    assert effect_of([octets], scanned=False) == effect_of([octets])


@thorough
@given(any_streams, st.lists(st.integers(0, 600), max_size=4))
def test_one_chunk_or_many_is_the_same(octets, places):
    assert effect_of([octets]) == effect_of(list(cut(octets, places)))


@thorough
@given(any_streams)
@example(LIAR + LIAR)
@example(publish(1, "amq.headers", "", b"x", props(headers={"k": "v"})) * 5)
@example(publish(1, "", "octets", b"xyz") * 20 + publish(1, "", "plain", b"x", mandatory=True) * 2)
def test_at_once_or_in_the_smallest_steps_is_the_same(octets):
    assert effect_of([octets]) == effect_of([octets], in_steps=True)
    assert effect_of([octets], scanned=False) == effect_of([octets], scanned=False, in_steps=True)


@searched(7, 70)
@given(any_streams)
def test_one_chunk_or_octet_by_octet_is_the_same(octets):
    assert effect_of([octets]) == effect_of([bytes([octet]) for octet in octets])


@pytest.mark.search
def test_wherever_a_stream_is_cut_the_effect_is_the_same(seed):
    octets = (
        publish(1, "", "reject", b"1234567", piece=4) * 3
        + ack(1, 1)
        + ack(1, 2)
        + publish(2, "", "live", b"", props(message_id="m"))
        + publish(1, "", "plain", b"x", mandatory=True) * 2
        + ack(2, 3, multiple=True)
    )
    whole = effect_of([octets])
    places = range(1, len(octets))
    for place in random.Random(seed).sample(places, share(100, len(places))):
        assert whole == effect_of([octets[:place], octets[place:]]), place


def read_back(chunks: list[bytes]) -> list[bytes]:
    """Return the bodies that a queue has after a peer with large frames has sent `chunks`."""
    world = World()
    peer = world.connect()
    peer.declare("q")
    for chunk in chunks:
        peer.send_octets(chunk)
    world.run()
    return [message.body for message in peer.drain("q")]


@pytest.mark.parametrize("first", [1, 30, 120_000, 131_100, 262_000, 400_000])
def test_large_chunks_behind_an_incomplete_frame_are_read_in_order(first):
    # Above 270,336 octets a chunk is not joined to what was left of the last one, but for its beginning.
    dice = random.Random(first)
    bodies = [dice.randbytes(n) for n in (100, 131_064, 200_000, 0, 7, 300_000, 5)]
    octets = b"".join(publish(1, "", "q", body, piece=131_064) for body in bodies) * 2
    assert bodies * 2 == read_back([octets[:first], octets[first:]])


@pytest.mark.parametrize("first", [1, 25, 60, 100_000, 300_000])
def test_frames_that_no_join_completes_are_read_too(first):
    world = World(frame_octets_max=2_000_000, frame_octets_max_initial=2_000_000)
    peer = world.connect(frame_octets_max=2_000_000)
    peer.declare("q")
    body = random.Random(first).randbytes(900_000)
    octets = publish(1, "", "q", body, piece=1_000_000) + publish(1, "", "q", b"next")
    peer.send_octets(octets[:first])
    peer.send_octets(octets[first:])
    assert [body, b"next"] == [message.body for message in peer.drain("q")]


@thorough
@given(any_streams, st.integers(1, 3))
@example(LIAR + LIAR, 1)
@example(publish(1, "", "octets", b"xyz") * 20 + publish(1, "", "plain", b"x", mandatory=True) * 2, 3)
def test_slow_queues_get_a_few_at_a_time_to_the_same_effect(octets, at_a_time):
    assert effect_of([octets]) == effect_of([octets], at_a_time=at_a_time)

"""A queue against its naive twin: any story of publishes, deliveries, acks, returns and time ends the same for both.

The real one is driven from outside: octets through AmqpSession, a fake clock, the turn run by hand. `-m slow` tells
2,000 stories of 50 steps; CI tells fewer and shorter ones.
"""

import logging
from itertools import chain, pairwise

import pytest
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from pamqp import frame

from pybroker.core.channel import requeue
from pybroker.core.topology import removal
from tests.core.queue_model import Held, Limits, NaiveQueue, Reader
from tests.fakes import Basic, Channel, Confirm, Content, Queue, World

ADMIN, PUBLISHER = 1, 2
READERS = (3, 4, 5)

LIMITS = st.one_of(
    st.builds(
        Limits,
        length=st.none() | st.integers(0, 6),
        octets=st.none() | st.integers(0, 60),
        overflow=st.sampled_from(["drop-head", "reject-publish", "reject-publish-dlx"]),
        ttl_ms=st.none() | st.sampled_from([0, 50, 100, 100_000]),
        priority_max=st.sampled_from([0, 0, 3]),
        dead_letters=st.booleans(),
    ),
    st.builds(
        Limits,
        length=st.none() | st.integers(1, 6),
        overflow=st.sampled_from(["drop-head", "reject-publish"]),
        delivery_limit=st.integers(0, 3),
    ),
    st.builds(Limits, priority_max=st.sampled_from([0, 3])),
    st.builds(Limits, single_active=st.just(True), length=st.none() | st.integers(0, 6)),
)


class QueueMachine(RuleBasedStateMachine):
    """Each rule does the same to both, then `turn` compares what came out."""

    durable = False

    def new_world(self):
        return World()

    def told(self, reason):
        """Return what matters of a reason."""
        return reason

    def attributes_of(self, number):
        """Return properties of the message with this number, which nobody should notice."""
        return {}

    @initialize(limits=LIMITS)
    def begin(self, limits):
        self.world = self.new_world()
        self.peer = self.world.connect()
        for number in (PUBLISHER, *READERS):
            self.peer.open(number)
        self.peer.call(Confirm.Select(), PUBLISHER)
        self.peer.declare("dead")
        durable = self.durable or limits.delivery_limit is not None
        reply = self.peer.declare("q", limits.arguments(), durable=durable)
        assert isinstance(reply, Queue.DeclareOk), reply
        self.queue = self.world.vhost.queues["q"]
        self.model = NaiveQueue(limits, unacked={number: {} for number in (ADMIN, *READERS)})
        self.published = 0
        self.confirmed = 0
        self.consumers = 0
        self.next_tag = dict.fromkeys((ADMIN, *READERS), 1)

    # -- what happens to both -----------------------------------------------------------------------------------------

    @rule(
        count=st.sampled_from([1, 2, 3, 5, 12]),
        padding=st.lists(st.integers(0, 20), min_size=1, max_size=3),
        priority=st.none() | st.integers(0, 5),
        expiration=st.sampled_from([None, None, None, 0, 30, 100_000]),
        at_once=st.booleans(),
    )
    def publish(self, count, padding, priority, expiration, at_once):
        properties = {} if priority is None else {"priority": priority}
        if expiration is not None:
            properties["expiration"] = str(expiration)
        frames, expected = [], []
        for i in range(count):
            self.published += 1
            content = b"%d:" % self.published + b"x" * padding[i % len(padding)]
            attributes = properties | self.attributes_of(self.published)
            frames.append(self.peer.publish_frames("", "q", content, **attributes))
            message = Held(self.published, self.published, len(content), priority or 0, expiration)
            expected.append(self.model.arrive(message))
        for chunk in [[*chain.from_iterable(frames)]] if at_once else frames:
            self.peer.send(*chunk, channel=PUBLISHER)
        assert self.confirms() == expected
        self.turn()

    @rule(
        channel=st.sampled_from(READERS),
        no_ack=st.booleans(),
        prefetch=st.sampled_from([0, 0, 1, 2, 5]),
        priority=st.sampled_from([0, 0, 0, 5]),
    )
    def consume(self, channel, no_ack, prefetch, priority):
        if len(self.model.readers) >= 4:
            return
        self.peer.send(Basic.Qos(prefetch_count=prefetch), channel=channel)
        assert isinstance(self.peer.next(channel), Basic.QosOk)
        self.model.channel_max.pop(channel, None)  # a limit for each consumer lifts that of the channel, as in RabbitMQ
        self.model.serve()
        self.turn()
        arguments = {"x-priority": priority} if priority else {}
        self.consumers += 1  # tags of our own: a random one would make a story tell itself differently the next time
        tag = self.peer.consume("q", f"t{self.consumers}", channel=channel, no_ack=no_ack, arguments=arguments)
        self.model.subscribe(tag, Reader(channel, no_ack, prefetch, priority))
        self.model.serve()
        self.turn()

    @precondition(lambda self: self.model.readers)
    @rule(data=st.data())
    def cancel(self, data):
        self.end_reader(data.draw(st.sampled_from(sorted(self.model.readers))))

    def end_reader(self, tag):
        channel = self.model.readers[tag].channel
        self.peer.send(Basic.Cancel(tag), channel=channel)
        assert isinstance(self.peer.next(channel), Basic.CancelOk)
        self.model.unsubscribe(tag)
        self.model.serve()
        self.turn()

    @rule(channel=st.sampled_from(READERS), most=st.sampled_from([0, 1, 2, 4]))
    def limit_channel(self, channel, most):
        if any(reader.no_ack for reader in self.model.readers.values() if reader.channel == channel):
            return  # it waits for a limit that it does not count against: when, depends on who is served first
        self.peer.send(Basic.Qos(prefetch_count=most, global_=True), channel=channel)
        assert isinstance(self.peer.next(channel), Basic.QosOk)
        self.model.channel_max[channel] = most
        self.model.serve()
        self.turn()

    @rule(count=st.integers(2, 20), prefetch=st.sampled_from([0, 0, 3]))
    def spread(self, count, prefetch):
        """Deal one batch over three channels: each of them holds a stride of it."""
        for tag in list(self.model.readers):
            self.end_reader(tag)
        self.flow(READERS, active=True)
        for channel in READERS:
            self.consume(channel, no_ack=False, prefetch=prefetch, priority=0)
        self.publish(count, [0], None, None, at_once=True)

    @precondition(lambda self: self.model.unacked_count)
    @rule(data=st.data(), multiple=st.booleans(), how=st.sampled_from(["ack", "requeue", "requeue", "reject"]))
    def settle(self, data, multiple, how):
        channel = data.draw(st.sampled_from(sorted(c for c, held in self.model.unacked.items() if held)))
        tag = data.draw(st.sampled_from(sorted(self.model.unacked[channel])))
        taken = self.model.take(channel, tag, multiple=multiple)
        if how == "ack":
            self.peer.send(Basic.Ack(tag, multiple=multiple), channel=channel)
        else:
            self.peer.send(Basic.Nack(tag, multiple=multiple, requeue=how == "requeue"), channel=channel)
        if how == "requeue":
            self.model.give_back(taken)
        elif how == "reject":
            self.model.dead += [(message.number, "rejected") for message in taken]
        self.model.serve()
        self.turn()

    @rule(channel=st.sampled_from(READERS))
    def recover(self, channel):
        self.model.give_back(self.model.take(channel, 0, multiple=True))
        self.peer.send(Basic.Recover(requeue=True), channel=channel)
        assert isinstance(self.peer.next(channel), Basic.RecoverOk)
        self.turn()

    @rule(no_ack=st.booleans(), channel=st.sampled_from((ADMIN, *READERS)))
    def get(self, no_ack, channel):
        reply = self.peer.get("q", channel=channel, no_ack=no_ack)
        if not self.model.ready or "consume" in self.model.orders:
            assert isinstance(reply, Basic.GetEmpty), reply
            self.turn()
            return
        message = self.model.ready.pop(0)
        assert (number_of(reply), reply.method.redelivered) == (message.number, message.deliveries > 0)
        self.check_tag(channel, reply)
        self.model.expire()
        assert reply.method.message_count >= len(self.model.ready)
        if not no_ack:
            self.model.unacked[channel][reply.method.delivery_tag] = (message, None)
        self.turn()

    @rule()
    def purge(self):
        assert self.peer.call(Queue.Purge(queue="q"), ADMIN).message_count == len(self.model.ready)
        self.model.ready.clear()
        self.turn()

    @rule(channel=st.sampled_from(READERS), how=st.sampled_from(["close", "error"]))
    def lose_channel(self, channel, how):
        if how == "close":
            reply = self.peer.call(Channel.Close(200, "", 0, 0), channel)
            assert isinstance(reply, Channel.CloseOk), reply
            self.peer.open(channel)
        else:
            assert self.peer.error(Basic.Ack(1_000_000), channel=channel)[0] == 406
        self.next_tag[channel] = 1
        self.model.close(channel)
        self.turn()

    @rule(ms=st.sampled_from([1, 29, 30, 50, 1_000]))
    def wait(self, ms):
        self.world.advance(ms)
        self.model.now_ms += ms
        self.model.serve()
        self.turn()

    @rule(channels=st.sampled_from([READERS, READERS, *[(number,) for number in READERS]]), active=st.booleans())
    def flow(self, channels, active):
        for channel in channels:
            self.peer.send_octets(frame.marshal(Channel.Flow(active), channel))
            (self.model.paused.discard if active else self.model.paused.add)(channel)
        self.world.run()
        for channel in channels:
            assert self.peer.next(channel).active == active
        self.model.serve()
        self.turn()

    @precondition(lambda self: sum(map(bool, self.model.unacked.values())) > 1)
    @rule(data=st.data())
    def return_all(self, data):
        """Requeue what every channel holds, in any order of channels, while nobody may take it."""
        self.flow(READERS, active=False)
        for channel in data.draw(st.permutations(READERS)):
            self.recover(channel)

    # -- what is compared ---------------------------------------------------------------------------------------------

    def confirms(self):
        """Return True or False for each publish of this step, in order."""
        found = {}
        for reply in self.peer.take(PUBLISHER):
            assert isinstance(reply, Basic.Ack | Basic.Nack), reply
            first = self.confirmed + 1 if reply.multiple else reply.delivery_tag
            for seq in range(first, reply.delivery_tag + 1):
                assert seq == self.confirmed + 1, "confirmed out of order"
                found[seq] = isinstance(reply, Basic.Ack)
                self.confirmed = seq
        return [found[seq] for seq in sorted(found)]

    def check_tag(self, channel, content):
        assert content.method.delivery_tag == self.next_tag[channel]
        self.next_tag[channel] += 1

    def turn(self):
        """Give what the real queue delivered to the model's readers, and see that it is what had to leave."""
        model = self.model
        leaving = {message.number: message for message in model.leaving}
        place = {number: at for at, number in enumerate(leaving)}
        delivered, served = [], set()
        last = {}
        for channel in READERS:
            for content in self.peer.take(channel):
                assert isinstance(content, Content), content
                number, tag = number_of(content), content.method.consumer_tag
                reader = model.readers[tag]
                assert reader.channel == channel
                assert number in leaving, f"{number} was delivered out of turn"
                message = leaving[number]
                assert content.method.redelivered == (message.deliveries > 0)
                assert last.get(tag, -1) < place[number], "delivered out of order"
                last[tag] = place[number]
                self.check_tag(channel, content)
                delivered.append(number)
                served.add(tag)
                if not reader.no_ack:
                    reader.held += 1
                    model.unacked[channel][content.method.delivery_tag] = (message, reader)
        assert sorted(delivered) == sorted(leaving)
        model.leaving.clear()
        self.check_readers(served)
        dead = [
            (number_of(letter), self.told(letter.headers["x-death"][0]["reason"]))
            for letter in self.peer.drain("dead", ADMIN)
        ]
        self.next_tag[ADMIN] += len(dead)
        expected = [(number, self.told(reason)) for number, reason in model.dead]
        assert sorted(dead) == (sorted(expected) if model.limits.dead_letters else [])
        model.dead.clear()

    def check_readers(self, served):
        readers = self.model.readers
        for tag in served:
            reader = readers[tag]
            assert not reader.prefetch or reader.no_ack or reader.held <= reader.prefetch
            above = [other for other in readers if readers[other].priority > reader.priority]
            assert all(self.model.credit(other) == 0 for other in above), "served before a higher priority"
            assert not self.model.limits.single_active or tag == self.model.active

    @invariant()
    def counts_agree(self):
        if not hasattr(self, "queue"):
            return
        queue, model = self.queue, self.model
        assert queue.messages_ready == len(model.ready) == sum(level.count for level in queue.backlog.levels)
        assert queue.messages_unacknowledged == model.unacked_count
        assert queue.backlog.octets_ready == model.octets
        held = [message for held in model.unacked.values() for message, _ in held.values()]
        assert queue.backlog.octets_unacknowledged == sum(message.size for message in held)
        last = [message for message in (*model.ready, *held) if self.attributes_of(message.number)] * queue.durable
        assert queue.backlog.messages_persistent == len(last)
        assert queue.backlog.octets_persistent == sum(message.size for message in last)
        assert queue.consumer_count == len(model.readers)

    @invariant()
    def entries_do_not_overlap(self):
        if not hasattr(self, "queue"):
            return
        for level in self.queue.backlog.levels:
            entries = list(level)
            if not self.queue.backlog.messages_evicted:
                assert sum(len(entry) for entry in entries) == level.count
            for entry, after in pairwise(entries):
                assert entry.last_seq < after.first_seq


def number_of(content):
    return int(content.body.partition(b":")[0])


QUICK = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=set(Phase) - {Phase.explain},  # which traces every line, and takes longer than all the rest
)


@pytest.fixture(autouse=True)
def quiet(caplog):
    """Thousands of stories end channels by errors: their log lines would fill the memory of the test run."""
    with caplog.at_level(logging.CRITICAL, "pybroker"):
        yield


def test_a_queue_does_what_a_list_of_messages_would():
    run_state_machine_as_test(QueueMachine, settings=QUICK)


def test_a_queue_does_the_same_where_messages_return_one_in_a_turn(monkeypatch):
    monkeypatch.setattr(requeue, "FEW_BATCHES", 0)
    monkeypatch.setattr(requeue, "AT_ONCE_BATCHES", 0)
    monkeypatch.setattr(requeue, "STEP_COST", 1)
    monkeypatch.setattr(removal, "FIRST_STEPS", 1)
    monkeypatch.setattr(removal, "TURN_STEPS", 1)
    run_state_machine_as_test(QueueMachine, settings=QUICK)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_a_queue_does_what_a_list_of_messages_would_in_two_thousand_stories():
    run_state_machine_as_test(QueueMachine, settings=settings(QUICK, max_examples=2_000, stateful_step_count=50))

"""Paused queues and consumers against the naive twin, and withheld publishes against a list."""

import logging

import pytest
from hypothesis import given, strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test

from pybroker.core.queue import pause
from tests.core.kept import new_broker, queue
from tests.core.test_queue_model import QUICK, QueueMachine
from tests.fakes import Basic, Confirm, Queue, World
from tests.flows.pausing import CONSUME, PUBLISH, REFUSE, pause as pause_queue, resume as resume_queue
from tests.strategies import few


class PauseMachine(QueueMachine):
    """The story of any queue, with an operator who pauses and resumes."""

    @rule(what=st.sampled_from(["consume", "refuse"]))
    def pause(self, what):
        pause_queue(self.world, **(CONSUME if what == "consume" else REFUSE))
        self.model.orders.add(what)
        self.turn()

    @precondition(lambda self: self.model.orders & {"consume", "refuse"})
    @rule(publish=st.booleans())
    def resume(self, publish):
        resume_queue(self.world, publish=publish, consume=not publish)
        self.model.orders.discard("refuse" if publish else "consume")
        self.model.serve()
        self.turn()

    @precondition(lambda self: self.model.readers)
    @rule(data=st.data())
    def pause_reader(self, data):
        tag = data.draw(st.sampled_from(sorted(self.model.readers)))
        self.consumer(tag).obey(pause.Pause(False, True, "withhold", "op", 0, "slow"))
        self.model.orders.add(tag)
        self.world.run()
        self.turn()

    @precondition(lambda self: self.model.orders & self.model.readers.keys())
    @rule(data=st.data())
    def resume_reader(self, data):
        tag = data.draw(st.sampled_from(sorted(self.model.orders & self.model.readers.keys())))
        self.consumer(tag).obey(None)
        self.model.resume(tag)
        self.world.run()
        self.model.serve()
        self.turn()

    def consumer(self, tag):
        return next(one for one in self.queue.consumers if one.tag == tag)


def test_paused_queues_and_consumers_do_what_a_list_of_messages_would(caplog):
    with caplog.at_level(logging.CRITICAL, "pybroker"):
        run_state_machine_as_test(PauseMachine, settings=QUICK)


STEPS = st.lists(st.sampled_from(["publish", "other", "both", "pause", "resume", "tick"]), max_size=25)


@few
@given(STEPS, st.booleans())
def test_withheld_publishes_come_in_as_they_were_sent(steps, at_once):
    world = World()
    peer, operator = world.connect(), world.connect()
    for name in ("q", "other"):
        operator.declare(name)
        operator.send(Queue.Bind(queue=name, exchange="amq.fanout", nowait=True))
    operator.take()
    peer.call(Confirm.Select())
    sent: list[tuple[str, bytes]] = []  # (route, body), in order
    waiting, paused = 0, False
    for step in [*steps, "resume"]:
        if step in {"publish", "other", "both"}:
            route = {"publish": ("", "q"), "other": ("", "other"), "both": ("amq.fanout", "")}[step]
            body = b"%d" % len(sent)
            sent.append((step, body))
            frames = peer.publish_frames(*route, body)
            for chunk in [frames] if at_once else [[frame] for frame in frames]:
                peer.send(*chunk)
            waiting += bool(waiting) or (paused and step != "other")
        elif step == "pause":
            pause_queue(world, **PUBLISH)
            paused = True
        elif step == "resume" and paused:
            resume_queue(world)
            paused, waiting = False, 0
        elif step == "tick":
            world.advance(1_000)
        done = sent[: len(sent) - waiting]
        for name, routes in (("q", {"publish", "both"}), ("other", {"other", "both"})):
            assert world.vhost.queues[name].messages_ready == sum(route in routes for route, _ in done)
        answers = peer.inbox[1]
        assert all(isinstance(each, Basic.Ack) for each in answers)
        assert (answers[-1].delivery_tag if answers else 0) == len(done)
    for name, routes in (("q", {"publish", "both"}), ("other", {"other", "both"})):
        assert [m.body for m in operator.drain(name)] == [body for route, body in sent if route in routes]


@pytest.mark.parametrize("mode", ["sideways", ""])
def test_a_row_of_an_unknown_mode_is_refused(mode):
    value = pause.Pause(True, True, "withhold", "op", 1, "why")._asdict()
    assert pause.of_row(value).what == "publish,consume"
    with pytest.raises(ValueError, match="unknown mode of a pause"):
        pause.of_row({**value, "mode": mode})
    with pytest.raises(TypeError):
        pause.of_row({"publish": True})


def test_those_that_accept_are_not_paused_for_publishers():
    vhost = new_broker().vhosts["/"]
    first, second = queue(vhost, "a"), queue(vhost, "b")
    first.obey(pause.Pause(True, False, "refuse", "op", 1, "why"))
    second.obey(pause.Pause(False, True, "refuse", "op", 1, "why"))
    assert pause.accepting((first, second)) == (second,)
    assert pause.withholding((first, second)) is None
    first.obey(pause.Pause(True, False, "withhold", "op", 1, "why"))
    assert str(pause.withholding((second, first))) == "the pause of queue 'a' in vhost '/'"

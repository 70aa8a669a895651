import pytest
from pamqp import commands

from pybroker.control.arguments.schedules import find_schedule, on_disk
from pybroker.control.spec import Node, Refused
from pybroker.core.events.cause import BROKER


def test_an_exchange_that_delays_has_a_schedule_and_no_other(world, peer):
    arguments = {"x-delayed-type": "fanout"}
    peer.call(commands.Exchange.Declare(exchange="x", exchange_type="x-delayed-message", arguments=arguments))
    assert [find_schedule(world.vhost, "x")] == list(world.vhost.schedules)
    with pytest.raises(Refused, match="is of type direct: it holds no messages"):
        find_schedule(world.vhost, "amq.direct")


def test_without_a_log_nothing_has_to_be_waited_for(world):
    on_disk(Node(world.broker, None, None, BROKER))


def test_it_is_waited_until_the_log_has_all(world, monkeypatch):
    log = world.broker.log
    monkeypatch.setattr(type(log), "commit_position", 3)
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        log.completed += 1

    on_disk(Node(world.broker, None, pause, BROKER))
    assert 3 == len(pauses)

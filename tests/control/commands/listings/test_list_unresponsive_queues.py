import pytest

from pybroker.control.spec import BadArguments, Refused
from pybroker.core.queue.queue import Queue


def test_a_node_that_answers_has_no_queue_that_does_not(operator, peer):
    peer.declare("q")
    assert operator.list("list_unresponsive_queues") == []
    assert operator.list("list_unresponsive_queues", "name", "durable", "pid", local=True, timeout_s=1) == []


def test_a_queue_that_does_not_run_would_be_named(operator, peer, monkeypatch):
    peer.declare("q")
    peer.declare("r")
    states = {"q": "crashed", "r": "running"}
    monkeypatch.setattr(Queue, "state", property(lambda queue: states[queue.name]))
    assert operator.list("list_unresponsive_queues", "name", "auto_delete") == [["q", False]]


def test_what_cannot_be_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.list("list_unresponsive_queues", vhost="x")
    assert refused.value.exit_code == 65
    with pytest.raises(BadArguments) as refused:
        operator.list("list_unresponsive_queues", timeout_s=0)
    assert refused.value.text == "Bad argument: --queue-timeout must be a number of seconds above 0"
    assert refused.value.exit_code == 65

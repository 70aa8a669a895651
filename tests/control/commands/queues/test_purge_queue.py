import pytest

from pybroker.control.spec import Refused
from pybroker.errors import MethodNotImplemented


def test_what_is_ready_goes_what_is_unacknowledged_stays(operator, peer):
    peer.declare("q")
    for _ in range(3):
        peer.publish("", "q")
    peer.get("q", no_ack=False)
    assert operator.ask("purge_queue", queue="q") is None
    assert operator.list("list_queues", "messages_ready", "messages_unacknowledged") == [[0, 1]]


def test_an_unknown_queue_is_refused(operator):
    with pytest.raises(Refused) as refused:
        operator.ask("purge_queue", queue="q")
    assert (refused.value.exit_code, refused.value.text) == (65, "queue 'q' was not found in virtual host '/'")


def test_a_stream_is_not_purged(operator, peer):
    peer.declare("s", {"x-queue-type": "stream"}, durable=True)
    with pytest.raises(
        MethodNotImplemented, match=r"queue.purge not supported by stream queues queue 's' in vhost '/'"
    ):
        operator.ask("purge_queue", queue="s")

import pytest

from pybroker.control.spec import Refused


def test_a_queue_is_resumed_in_part_or_whole(operator, peer):
    peer.declare("q")
    operator.ask("pause_queue", queue="q", why="migration")
    answer = operator.ask("resume_queue", queue="q", consume=True)
    assert answer["message"] == "Queue 'q' in vhost '/' was resumed; it is still paused for publishers"
    assert (answer["paused"], answer["why"]) == ("publish", "migration")
    answer = operator.ask("resume_queue", queue="q")
    assert answer["message"] == "Queue 'q' in vhost '/' was resumed"
    assert operator.list("list_queues", "paused") == [""]


def test_the_side_that_is_not_paused_is_refused(operator, peer):
    peer.declare("q")
    operator.ask("pause_queue", queue="q", why="migration")
    operator.ask("resume_queue", queue="q", publish=True)
    text = "queue 'q' in vhost '/' is not paused for publishers; it is for consumers"
    with pytest.raises(Refused, match=text) as refused:
        operator.ask("resume_queue", queue="q", publish=True)
    assert refused.value.facts["paused"] == "consume"


def test_one_that_is_not_paused_is_refused(operator, peer):
    peer.declare("q")
    with pytest.raises(Refused, match="queue 'q' in vhost '/' is not paused"):
        operator.ask("resume_queue", queue="q")

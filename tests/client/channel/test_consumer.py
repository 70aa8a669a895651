"""A consumer's record is what it takes to consume again."""

from pybroker.client.channel.consumer import Consumer
from pybroker.client.channel.consuming import _consume


def test_the_request_is_made_of_the_record():
    consumer = Consumer("tag", "queue", print, None, True, False, True, {"x-priority": 3})
    request = _consume(consumer._replace(queue="renamed"))
    assert (request.queue, request.consumer_tag, request.no_ack, request.exclusive, request.no_local) == (
        "renamed",
        "tag",
        True,
        False,
        True,
    )
    assert request.arguments == {"x-priority": 3}

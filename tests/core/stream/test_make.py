"""Which class a queue of a type has."""

import pytest

from pybroker.core.policy.limits import QueueLimits
from pybroker.core.queue.queue import Queue
from pybroker.core.stream.make import make_queue
from pybroker.core.stream.stream import Stream
from pybroker.wire.table import Table


@pytest.mark.parametrize(("queue_type", "made"), [("classic", Queue), ("quorum", Queue), ("stream", Stream)])
def test_the_type_says(world, queue_type, made):
    limits = QueueLimits(queue_type=queue_type)
    queue = make_queue(world.vhost, "q", durable=True, auto_delete=False, owner=None, arguments=Table(), limits=limits)
    assert (type(queue), queue.type, queue.name) == (made, queue_type, "q")

import pytest

from pybroker.core.channel.receipt import NO_RECEIPT
from pybroker.core.policy.limits import QueueLimits
from pybroker.core.stream.make import make_queue
from pybroker.wire.table import Table
from tests.core.stream.files import SlowFiles
from tests.core.stream.runs import bodies_run
from tests.fakes import World


@pytest.fixture
def world():
    return World()


@pytest.fixture
def make_stream(world):
    def make(files=None, **limits):
        limits = QueueLimits(queue_type="stream", **limits)
        arguments = Table({"x-queue-type": "stream"})
        made = make_queue(
            world.vhost, "s", durable=True, auto_delete=False, owner=None, arguments=arguments, limits=limits
        )
        if files is not None:
            made.use_files(files)
        world.vhost.queues["s"] = made
        world.vhost.bump()
        return made

    return make


@pytest.fixture
def stream(make_stream):
    return make_stream()


@pytest.fixture
def slow(make_stream):
    """A stream whose files are slow."""
    return make_stream(SlowFiles())


@pytest.fixture
def fill():
    """Return a function that appends messages with these bodies to a stream, as one run."""

    def fill(stream, *bodies):
        run = bodies_run(stream.log.take(len(bodies)), *bodies)
        stream.enqueue(run, range(len(bodies)), NO_RECEIPT)
        return run

    return fill

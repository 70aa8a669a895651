"""Messages of a stream with a consumer that does not acknowledge."""

from collections.abc import Iterator

from pamqp import commands

from tests.ctl.live_node import LiveNode

SYMPTOM = "A consumer of a stream is far behind"


def prepare(node: LiveNode) -> Iterator[None]:
    """Publish, and have a consumer that is content with the first message."""
    node.declare_streams(["events"], 200)
    with node.peer() as peer:
        peer.call(commands.Basic.Qos(prefetch_count=1), commands.Basic.QosOk)
        arguments = {"x-stream-offset": "first"}
        peer.call(commands.Basic.Consume(queue="events", arguments=arguments), commands.Basic.ConsumeOk)
        yield

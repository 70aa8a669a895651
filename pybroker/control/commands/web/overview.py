"""overview: sums over all that a user sees."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.control import listeners
from pybroker.control.access import sees_all
from pybroker.control.commands.web.object_rows import seen_by
from pybroker.control.objects.kinds import KINDS
from pybroker.control.spec import Command, NoArgs, Node
from pybroker.core.stats.metrics import NODE, QUEUE, VHOST

if TYPE_CHECKING:
    from pybroker.control.objects.kind import View

LENGTHS: Final = ("messages", "messages_ready", "messages_unacknowledged")
CHURN: Final = (
    *("connections_opened", "connections_closed", "channels_opened", "channels_closed"),
    *("queues_declared", "queues_created", "queues_deleted"),
)
# Looked at between two pauses: some hundred microseconds.
QUEUES_PER_SLICE: Final = 500


def run(node: Node, args: NoArgs) -> dict[str, Any]:
    """Return counts of objects and messages; those of the node, and how many came and went, for those who see all."""
    del args
    broker = node.broker
    view = seen_by(node, KINDS["queue"])
    everything = sees_all(node.user)
    return {
        "node": node.name,
        "cluster_name": broker.settings.cluster_name,
        "exchange_types": list(broker.exchange_types),
        "listeners": listeners.documents(broker),
        "object_totals": _objects(view),
        "queue_totals": _lengths(node, view),
        "message_stats": {
            name: NODE[name].read(broker) if everything else sum([VHOST[name].read(vhost) for vhost in view.vhosts])
            for name in VHOST
            if name in NODE
        },
        "vhosts": [vhost.name for vhost in view.vhosts],
        "churn": {name: NODE[name].read(broker) for name in CHURN} if everything else None,
    }


def _objects(view: "View") -> dict[str, int]:
    connections: list[Any] = list(KINDS["connection"].find(view))
    return {
        "channels": sum([len(session.channels) for session in connections]),
        "connections": len(connections),
        "consumers": sum([session.consumers for session in connections]),
        "exchanges": sum([len(vhost.exchanges) for vhost in view.vhosts]),
        "queues": sum([len(vhost.queues) for vhost in view.vhosts]),
    }


def _lengths(node: Node, view: "View") -> dict[str, int]:
    reads = [QUEUE[name].read for name in LENGTHS]
    sums = [0] * len(reads)
    for count, queue in enumerate(KINDS["queue"].find(view), 1):
        sums = [known + read(queue) for known, read in zip(sums, reads, strict=True)]
        if not count % QUEUES_PER_SLICE:
            node.pause(0)
    return dict(zip(LENGTHS, sums, strict=True))


COMMAND = Command(
    name="overview",
    section="Monitoring",
    summary="Tells a user of pybroker-web how much of everything there is",
    args=NoArgs,
    effect="read",
    access="management",
    run=run,
)

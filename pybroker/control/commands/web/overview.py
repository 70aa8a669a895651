"""overview: sums over all that a user sees."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.control import listeners
from pybroker.control.access import sees_all
from pybroker.control.commands.web.object_rows import seen_by
from pybroker.control.objects.kinds import KINDS
from pybroker.control.objects.lengths import lengths_of
from pybroker.control.spec import Command, NoArgs, Node
from pybroker.core.stats.metrics import NODE, VHOST

if TYPE_CHECKING:
    from pybroker.control.objects.kind import View

CHURN: Final = (
    *("connections_opened", "connections_closed", "channels_opened", "channels_closed"),
    *("queues_declared", "queues_created", "queues_deleted"),
)


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
        "queue_totals": lengths_of(view.vhosts, node.pause),
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


COMMAND = Command(
    name="overview",
    section="Monitoring",
    summary="Tells a user of pybroker-web how much of everything there is",
    args=NoArgs,
    effect="read",
    access="management",
    run=run,
)

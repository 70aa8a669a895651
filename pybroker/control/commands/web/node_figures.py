"""node_figures: all that the node counts and measures of itself, as a document."""

import resource
import sys
from typing import Annotated, Any, NamedTuple

from pybroker.control.commands.monitoring import memory_breakdown
from pybroker.control.spec import Arg, Command, Node
from pybroker.core.broker import CLUSTER_ID
from pybroker.core.stats.metrics import DEAD_LETTER, GLOBAL, GLOBAL_STREAM, NODE
from pybroker.version import RABBITMQ_VERSION, VERSION


class Args(NamedTuple):
    """Figures that are counted on demand alone."""

    memory: Annotated[bool, Arg("also where the memory is", "--memory")] = False


def run(node: Node, args: Args) -> dict[str, Any]:
    """Return the identity of the node, its metrics by name, alarms, and the histogram of message sizes.

    Some metrics are sums over all exchanges or connections, so each is read in a turn of its own.
    """
    import psutil  # noqa: PLC0415 - pybrokerctl would pay 20 ms

    process = psutil.Process()
    broker, settings = node.broker, node.broker.settings
    sizes = broker.message_sizes
    read: dict[Any, Any] = {}
    for metric in (*NODE.values(), *GLOBAL.values(), *GLOBAL_STREAM.values()):
        if metric.read not in read:
            read[metric.read] = metric.read(broker)
            node.pause(0)
    return {
        "node": settings.node_name,
        "cluster": settings.cluster_name,
        "cluster_id": broker.parameters.globals.get(CLUSTER_ID, ""),
        "version": VERSION,
        "rabbitmq_version": RABBITMQ_VERSION,
        "python": ".".join(map(str, sys.version_info[:3])),
        "uptime_ms": broker.clock.now_ms - broker.started_ms,
        "figures": {name: read[metric.read] for name, metric in NODE.items()},
        "global": {
            protocol: {name: read[metric.read] for name, metric in table.items()}
            for protocol, table in (("amqp091", GLOBAL), ("stream", GLOBAL_STREAM))
        },
        "dead_letters": {
            strategy: {name: metric.read(deaths) for name, metric in DEAD_LETTER.items()}
            for strategy, deaths in broker.totals.deaths.items()
        },
        "virtual_hosts": list(broker.vhosts),
        "exchange_types": list(broker.exchange_types),
        "auth_mechanisms": list(settings.auth_mechanisms),
        "waiting": len(broker.turn.queues),
        "threads": process.num_threads(),
        "threads_max": resource.getrlimit(resource.RLIMIT_NPROC)[0],
        "files": process.num_fds(),
        "files_max": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "logins": {"succeeded": broker.logins.succeeded, "failed": broker.logins.failed},
        "alarms": sorted({alarm.resource for alarm in broker.alarms}),
        "message_sizes": {"bounds": list(sizes.bounds), "counts": sizes.counts, "octets": sizes.octets},
        "memory": memory_breakdown.run(node, memory_breakdown.Args()) if args.memory else None,
    }


COMMAND = Command(
    name="node_figures",
    section="Monitoring",
    summary="Tells the metrics of the node to pybroker-web",
    args=Args,
    effect="read",
    access="none",
    run=run,
)

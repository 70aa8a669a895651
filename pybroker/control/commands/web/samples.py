"""samples: figures of the node and its virtual hosts, for pybroker-web to keep."""

from typing import Any, Final

from pybroker.control.objects.lengths import LENGTHS, lengths_of
from pybroker.control.spec import Command, NoArgs, Node
from pybroker.core.stats.metrics import NODE, VHOST

OCTETS: Final = ("recv_oct", "send_oct")
# A virtual host's history takes some 50 KiB there.
VHOSTS_MAX: Final = 100


def run(node: Node, args: NoArgs) -> dict[str, Any]:
    """Return the names of the figures, and them: of the node, and of the first virtual hosts."""
    del args
    import psutil  # noqa: PLC0415 - pybrokerctl would pay 20 ms

    broker = node.broker
    lengths = dict.fromkeys(LENGTHS, 0)
    vhosts: dict[str, list[int]] = {}
    for number, vhost in enumerate(list(broker.vhosts.values())):
        found = lengths_of((vhost,), node.pause)
        lengths = {name: known + found[name] for name, known in lengths.items()}
        if number < VHOSTS_MAX:
            octets = (
                sum([each.recv_octets for each in vhost.sessions]),
                sum([each.send_octets for each in vhost.sessions]),
            )
            vhosts[vhost.name] = [*[metric.read(vhost) for metric in VHOST.values()], *found.values(), *octets]
        node.pause(0)
    figures = []
    for metric in NODE.values():
        figures.append(metric.read(broker) or 0)
        node.pause(0)
    return {
        "started_ms": broker.started_ms,
        "node_names": [*NODE, *LENGTHS, "fd_used"],
        "node": [*figures, *lengths.values(), psutil.Process().num_fds()],
        "vhost_names": [*VHOST, *LENGTHS, *OCTETS],
        "vhosts": vhosts,
    }


COMMAND = Command(
    name="samples",
    section="Monitoring",
    summary="Tells pybroker-web figures of the node and its virtual hosts",
    args=NoArgs,
    effect="read",
    access="none",
    run=run,
)

"""check_port_connectivity: health check that connects to every listener, as a client of this machine would."""

from typing import Annotated, NamedTuple

from pybroker.control import listeners
from pybroker.control.spec import EX_UNAVAILABLE, Arg, Command, Node, Refused

# Together they take no longer than the command may.
TIMEOUT_S = 30


class Args(NamedTuple):
    """By which address."""

    address: Annotated[
        str | None, Arg("connect to this address instead of the listener's own", "-a --address", "address")
    ] = None


def run(node: Node, args: Args) -> str:
    """Connect and hang up; return rabbitmq-diagnostics' sentence. Raises Refused with the listeners that failed."""
    each_s = TIMEOUT_S / (len(node.broker.listeners) + 1)
    failures = []
    # With an address the listeners of both families on one port are one place to connect to.
    places: dict[tuple[str, int], str] = {}
    for one, line in zip(node.broker.listeners, listeners.lines(listeners.documents(node.broker)), strict=True):
        places.setdefault((one.path or args.address or one.interface, one.port), line)
    for (host, port), line in places.items():
        why = node.daemon.why_unreachable(host, port, each_s)
        if why:
            failures.append(f"{line} ({why})")
    if failures:
        head = f"Connection to ports of the following listeners on node {node.name} failed: "
        raise Refused("\n".join([head, *failures]), EX_UNAVAILABLE)
    using = "." if args.address is None else f" (using {args.address} for target IP address)"
    return f"Successfully connected to ports {listeners.ports(node.broker)} on node {node.name}{using}"


def banner(args: Args) -> str:
    """Return the banner, which names the address if one is given."""
    using = "" if args.address is None else " using {address} for node IP address"
    return f"Testing TCP connections to all active listeners on node {{node}}{using} ..."


COMMAND = Command(
    name="check_port_connectivity",
    section="Monitoring",
    summary="Health check: fails unless every listener of the node accepts connections",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    banner=banner,
    timeout_s=TIMEOUT_S,
    app="any",
)

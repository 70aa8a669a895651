"""change_vhost_limit: one limit of a virtual host, set or cleared over the HTTP API; the others stay."""

from typing import Annotated, Any, NamedTuple

from pybroker.control.arguments import policies
from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Arg, Changed, Command, Node, VHostArg
from pybroker.core.auth.quota import LIMITS, VHOST_LIMITS


class Args(NamedTuple):
    """The limit, and its value as JSON."""

    name: Annotated[str, Arg("max-connections or max-queues")]
    vhost: VHostArg
    value: Annotated[str | None, Arg("the limit; none to clear it", "--value")] = None


def run(node: Node, args: Args) -> Changed:
    """Set or clear it; connections and queues over a limit stay. Raises Refused."""
    vhost = find_vhost(node.broker, args.vhost)
    known: dict[str, Any] = dict(node.broker.parameters.of(vhost.name, VHOST_LIMITS).get(LIMITS) or {})
    if args.value is not None:
        limits = {**known, args.name: policies.read_json(node, args.value)}
        return policies.set_parameter(node, vhost.name, VHOST_LIMITS, LIMITS, limits)
    if args.name not in known:
        return Changed(node.broker.definitions.commit_position)
    # The parameter stays when the last limit goes, as in RabbitMQ: the virtual host stays among those with limits.
    del known[args.name]
    return policies.set_parameter(node, vhost.name, VHOST_LIMITS, LIMITS, known)


COMMAND = Command(
    name="change_vhost_limit",
    section="Virtual hosts",
    summary="Changes a limit of a virtual host for an administrator of pybroker-web",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
)

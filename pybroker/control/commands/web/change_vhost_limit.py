"""change_vhost_limit: one limit of a virtual host, set or cleared over the HTTP API; the others stay."""

from typing import Annotated, Any, Final, NamedTuple

from pybroker.control.arguments import policies
from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Arg, Changed, Command, Node, VHostArg

COMPONENT: Final = "vhost-limits"
NAME: Final = "limits"


class Args(NamedTuple):
    """The limit, and its value as JSON."""

    name: Annotated[str, Arg("max-connections or max-queues")]
    vhost: VHostArg
    value: Annotated[str | None, Arg("the limit; none to clear it", "--value")] = None


def run(node: Node, args: Args) -> Changed:
    """Set or clear it; connections and queues over a limit stay. Raises Refused."""
    vhost = find_vhost(node.broker, args.vhost)
    known: dict[str, Any] = dict(node.broker.parameters.of(vhost.name, COMPONENT).get(NAME) or {})
    if args.value is not None:
        limits = {**known, args.name: policies.read_json(node, args.value)}
        return policies.set_parameter(node, vhost.name, COMPONENT, NAME, limits)
    if args.name not in known:
        return Changed(node.broker.definitions.commit_position)
    del known[args.name]
    if known:
        return policies.set_parameter(node, vhost.name, COMPONENT, NAME, known)
    return policies.clear_parameter(node, vhost.name, COMPONENT, NAME)


COMMAND = Command(
    name="change_vhost_limit",
    section="Virtual hosts",
    summary="Changes a limit of a virtual host for an administrator of pybroker-web",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
)

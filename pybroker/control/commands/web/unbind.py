"""unbind: queue.unbind and exchange.unbind of a user of the HTTP API."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.arguments.lookup import find_vhost, missing
from pybroker.control.arguments.removals import is_over, when_gone
from pybroker.control.commands.web.bind import KINDS
from pybroker.control.objects.topology import key_of
from pybroker.control.spec import Arg, Changed, Command, Node, Refused, VHostArg
from pybroker.core.auth.access import check_not_default
from pybroker.core.auth.permissions import WRITE, check
from pybroker.core.topology import exchange_declare
from pybroker.core.topology.removal import check_leaving
from pybroker.text.properties_key import is_same

if TYPE_CHECKING:
    from pybroker.core.routing.binding import Binding
    from pybroker.core.topology.vhost import VHost


class Args(NamedTuple):
    """From where to where, and which of the bindings there."""

    source: Annotated[str, Arg("exchange that messages come from")]
    kind: Annotated[str, Arg("what they go to", choices=KINDS)]
    destination: Annotated[str, Arg("name of that")]
    key: Annotated[str, Arg("its properties_key")]
    vhost: VHostArg


def run(node: Node, args: Args) -> Changed:
    """Take the binding away. Raises Refused, AmqpError."""
    vhost, user = find_vhost(node.broker, args.vhost), node.broker.users.acting(node.user.name)
    for kind, name in ((args.kind, args.destination), ("exchange", args.source)):
        when_gone(node, partial(check_leaving, vhost, kind, name))
    # Without this a user could find out which bindings there are.
    check(user, vhost.name, WRITE, args.kind, args.destination)
    check_not_default(args.source)
    binding = _find(vhost, args)
    where = (args.source, args.kind, args.destination, binding.routing_key, binding.arguments)
    return is_over(node, exchange_declare.unbind(vhost, user, None, *where, node.cause))


def _find(vhost: "VHost", args: Args) -> "Binding":
    """Return the binding. Raises Refused."""
    nouns: Any = vhost.queues if args.kind == "queue" else vhost.exchanges
    for binding in vhost.bound.get(nouns.get(args.destination), {}).values():
        if binding.source.name == args.source and is_same(key_of(binding), args.key):
            return binding
    raise Refused(f"there is no binding '{args.key}' there", facts=missing("binding"))


COMMAND = Command(
    name="unbind",
    section="Queues",
    summary="Takes a binding away for a user of pybroker-web",
    args=Args,
    effect="destroy",
    access="management",
    run=run,
)

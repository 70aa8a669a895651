"""publish_message: a message of a user of the HTTP API, published as a client's with confirms, and mandatory."""

import os
from typing import Annotated, Any, Final, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.commands.messages.publish import PAUSE_S, body_of_lines
from pybroker.control.spec import EX_TEMPFAIL, Arg, Command, Node, Refused, VHostArg
from pybroker.errors import NoRoute

HEADERS: Final = "headers"


class Args(NamedTuple):
    """The exchange, the routing key and the properties; the body comes in lines."""

    exchange: Annotated[str, Arg("name of the exchange")]
    routing_key: Annotated[str, Arg("routing key")]
    vhost: VHostArg
    properties: Annotated[dict[str, Any], Arg("properties, with headers among them", "--properties")] = {}  # noqa: RUF012 - never changed


def run(node: Node, args: Args) -> dict[str, bool]:
    """Publish it; return whether a queue took it, as soon as it is on disk if it goes there.

    Raises Refused, AmqpError.
    """
    broker = node.broker
    body = body_of_lines(node)
    outgoing = find_vhost(broker, args.vhost).compose(
        broker.users.acting(node.user.name),
        node.cause,
        exchange=args.exchange,
        routing_key=args.routing_key,
        properties={name: str(value) for name, value in args.properties.items() if name != HEADERS},
        headers=[(name, "json", value) for name, value in args.properties.get(HEADERS, {}).items()],
        body=body,
    )
    if broker.alarms:
        short = " and ".join(broker.alarms.resources)
        raise Refused(f"the node is short of {short}: it accepts no messages", EX_TEMPFAIL)
    try:
        sent = outgoing.publish(1)
    except NoRoute:
        return {"routed": False}
    while not sent.receipt.completed:
        if sent.receipt.failed:
            raise Refused(f"not stored: {sent.receipt.failed}", os.EX_IOERR)
        node.pause(PAUSE_S)
    return {"routed": not sent.rejected}


COMMAND = Command(
    name="publish_message",
    section="Messages",
    summary="Publishes a message for a user of pybroker-web",
    args=Args,
    effect="write",
    access="management",
    run=run,
    takes_lines=True,
)

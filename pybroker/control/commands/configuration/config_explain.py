"""config_explain: one configuration key: its meaning, values, default, and the value in effect with its source."""

from typing import Annotated, Any, NamedTuple

from pybroker.control.spec import Arg, Command, Node


class Args(NamedTuple):
    """The key."""

    key: Annotated[str, Arg("key of pybroker.conf(5), such as heartbeat or listeners.tcp.NAME")]


def run(node: Node, args: Args) -> dict[str, Any]:
    """Return what there is to say. Raises Refused: there is no such key, with the reason or the nearest one."""
    return node.daemon.configuration.explain(args.key)


COMMAND = Command(
    name="config_explain",
    section="Configuration",
    summary="Explains a configuration key: meaning, values, default, value in effect and its source, how a change "
    "takes effect, and RabbitMQ's equivalent",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    app="any",
)

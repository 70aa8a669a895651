"""clear_topic_permissions: lift what set_topic_permissions restricted."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_user, find_vhost
from pybroker.control.spec import Arg, Changed, Command, Node, VHostArg


class Args(NamedTuple):
    """The user and one exchange, or all."""

    username: Annotated[str, Arg("name of the user", names="user")]
    exchange: Annotated[str | None, Arg("topic exchange; default: all of the virtual host", names="exchange")] = None
    vhost: VHostArg = "/"


def run(node: Node, args: Args) -> Changed:
    """Lift the restriction. Raises Refused for an unknown name."""
    vhost = find_vhost(node.broker, args.vhost)
    user = find_user(node.broker, args.username)
    commit_position = node.broker.users.clear_topic_permissions(user.name, vhost.name, args.exchange, cause=node.cause)
    vhost.bump()
    return Changed(commit_position)


def banner(args: Args) -> str:
    """Return rabbitmqctl's banner, with the exchange if one is given."""
    where = "" if args.exchange is None else 'on "{exchange}" '
    return f'Clearing topic permissions {where}for user "{{username}}" in vhost "{{vhost}}" ...'


COMMAND = Command(
    name="clear_topic_permissions",
    section="Access Control",
    summary="Clears the topic permissions of a user for one topic exchange, or for all of a virtual host",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner=banner,
)

"""clear_user_limits: remove a user's limit of connections or channels."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_user
from pybroker.control.spec import Arg, Changed, Command, Node

ALL = "all"


class Args(NamedTuple):
    """The user and which limit."""

    username: Annotated[str, Arg("name of the user", names="user")]
    limit_type: Annotated[
        str, Arg("max-connections, max-channels or all", "", choices=("max-connections", "max-channels", ALL))
    ]


def run(node: Node, args: Args) -> Changed:
    """Clear it; one that is not set is no fault. Raises Refused for an unknown user."""
    user = find_user(node.broker, args.username)
    left = {name: limit for name, limit in user.limits.items() if args.limit_type not in {ALL, name}}
    return Changed(node.broker.users.set_limits(user.name, left, node.cause))


def banner(args: Args) -> str:
    """Return rabbitmqctl's banner."""
    which = "all limits" if args.limit_type == ALL else '"{limit_type}" limit'
    return f'Clearing {which} for user "{{username}}" ...'


COMMAND = Command(
    name="clear_user_limits",
    section="Users",
    summary="Clears limits of a user",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner=banner,
)

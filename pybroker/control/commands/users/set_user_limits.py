"""set_user_limits: how many connections and channels a user may have."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pybroker.control.arguments import policies
from pybroker.control.arguments.lookup import find_user
from pybroker.control.spec import EX_UNAVAILABLE, Arg, Changed, Command, Node, Refused

if TYPE_CHECKING:
    from pybroker.core.auth.users import User


class Args(NamedTuple):
    """The user and the limits."""

    username: Annotated[str, Arg("name of the user", names="user")]
    definition: Annotated[str, Arg("limits, a JSON object of max-connections and max-channels; -1 for none")]


def run(node: Node, args: Args) -> Changed:
    """Set the given limits, and leave the others; whatever exceeds one stays open. Raises Refused."""
    user: User = find_user(node.broker, args.username)
    given = policies.read_json(node, args.definition)
    try:
        return Changed(node.broker.users.add_limits(user.name, given, node.cause))
    except ValueError as error:
        raise Refused(str(error), EX_UNAVAILABLE) from None


COMMAND = Command(
    name="set_user_limits",
    section="Users",
    summary="Limits the connections and channels of a user",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner='Setting user limits to "{definition}" for user "{username}" ...',
)

"""set_permissions_globally: set a user's configure, write and read patterns in every existing virtual host."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_user
from pybroker.control.spec import Arg, Changed, Command, Node, Refused


class Args(NamedTuple):
    """The user and three patterns."""

    username: Annotated[str, Arg("name of the user", names="user")]
    configure: Annotated[str, Arg("pattern of the names that may be declared and deleted", "", "conf")]
    write: Annotated[str, Arg("pattern of the names that may be published or bound to")]
    read: Annotated[str, Arg("pattern of the names that may be consumed or bound from")]


def run(node: Node, args: Args) -> Changed:
    """Grant; a virtual host that is made later is none of these. Raises Refused."""
    user = find_user(node.broker, args.username)
    commit_position = 0
    try:
        for vhost in list(node.broker.vhosts.values()):
            commit_position = node.broker.users.set_permissions(
                user.name, vhost.name, args.configure, args.write, args.read, cause=node.cause
            )
    except ValueError as error:
        raise Refused(f"a permission pattern is not a regular expression: {error}") from error
    return Changed(commit_position)


COMMAND = Command(
    name="set_permissions_globally",
    section="Access Control",
    summary="Sets the permissions of a user in all virtual hosts",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner='Setting permissions for user "{username}" in all virtual hosts ...',
)

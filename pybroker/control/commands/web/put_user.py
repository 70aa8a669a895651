"""put_user: a user made or changed over the HTTP API, with password and tags."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pybroker.control.arguments.names import NAME_OCTETS_MAX
from pybroker.control.arguments.passwords import decoded, hashed
from pybroker.control.spec import EX_DATAERR, Arg, BadArguments, Changed, Command, Node, Refused

if TYPE_CHECKING:
    from pybroker.core.auth.users import Users


class Args(NamedTuple):
    """The user, all tags, and a password or its hash; without both no password lets the user in."""

    username: Annotated[str, Arg("name of the user")]
    tags: Annotated[tuple[str, ...], Arg("all tags of the user", "--tags", "tag")] = ()
    password: Annotated[str, Arg("password", "--password", secret=True)] = ""
    password_hash: Annotated[str, Arg("its hash in Base64", "--hash", secret=True)] = ""


def check(args: Args) -> None:
    """Refuse both, and a name that AMQP cannot carry. Raises BadArguments."""
    if args.password and args.password_hash:
        raise BadArguments("both_password_and_password_hash_are_provided", EX_DATAERR)
    if not 0 < len(args.username.encode()) <= NAME_OCTETS_MAX:
        raise BadArguments(f"the name of a user has 1 to {NAME_OCTETS_MAX} octets", EX_DATAERR)


def run(node: Node, args: Args) -> Changed:
    """Make the user, or replace password and tags; return whether it was made. Raises Refused."""
    password_hash, algorithm = decoded(args.password_hash) if args.password_hash else hashed(node, args.password)
    users = node.broker.users
    try:
        if users.get(args.username) is None:
            tags = dict.fromkeys(args.tags)
            position = users.add_hashed(args.username, password_hash, algorithm, tags, cause=node.cause)
            return Changed(position, {"created": True})
        return Changed(_replace(users, node, args, password_hash, algorithm), {"created": False})
    except ValueError as error:
        raise Refused(str(error), EX_DATAERR) from None


def _replace(users: "Users", node: Node, args: Args, password_hash: bytes, algorithm: str) -> int:
    users.set_hashed(args.username, password_hash, algorithm, node.cause)
    return users.set_tags(args.username, dict.fromkeys(args.tags), node.cause)


COMMAND = Command(
    name="put_user",
    section="Users",
    summary="Makes or changes a user for an administrator of pybroker-web",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    check=check,
)

"""add_user: a new user, without permissions."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.passwords import decoded, hashed
from pybroker.control.spec import EX_DATAERR, EX_SOFTWARE, Arg, Changed, Command, Node, Refused

DONE = (
    "Done. Don't forget to grant the user permissions to some virtual hosts! "
    "See 'pybrokerctl help set_permissions' to learn more."
)


class Args(NamedTuple):
    """Name and password."""

    username: Annotated[str, Arg("name of the user")]
    password: Annotated[
        str,
        Arg(
            "password, prompted for if omitted; with an empty one the user can log in by certificate only",
            prompt="Password: ",
            secret=True,
        ),
    ]
    pre_hashed_password: Annotated[
        bool,
        Arg("the password is a salted hash in Base64, as hash_password prints it", "--pre-hashed-password"),
    ] = False


def run(node: Node, args: Args) -> Changed:
    """Add the user. Raises Refused."""
    users = node.broker.users
    if not args.username:
        raise Refused("user cannot be an empty string")
    _check_new(node, args.username)
    password_hash, algorithm = decoded(args.password) if args.pre_hashed_password else hashed(node, args.password)
    _check_new(node, args.username)  # others went on while the password was hashed
    try:
        commit_position = users.add_hashed(args.username, password_hash, algorithm, cause=node.cause)
    except ValueError as error:
        raise Refused(str(error), EX_DATAERR) from None
    return Changed(commit_position, DONE)


def _check_new(node: Node, name: str) -> None:
    if node.broker.users.get(name) is not None:
        raise Refused(f'User "{name}" already exists', EX_SOFTWARE)


COMMAND = Command(
    name="add_user",
    section="Users",
    summary="Adds a user without any permissions",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner='Adding user "{username}" ...',
)

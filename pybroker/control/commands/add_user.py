"""add_user: a new user, without permissions."""

from base64 import b64decode
from typing import Annotated, NamedTuple

from pybroker.control.spec import EX_SOFTWARE, Arg, Command, Node, Refused

# RabbitMQ's default algorithm: what hash_password and definitions files hold (rabbit_password.erl).
SHA256 = "rabbit_password_hashing_sha256"
DONE = (
    "Done. Don't forget to grant the user permissions to some virtual hosts! "
    "See 'pybrokerctl help set_permissions' to learn more."
)


class Args(NamedTuple):
    """Name and password."""

    username: Annotated[str, Arg("name of the user")]
    password: Annotated[
        str, Arg("password; an empty one lets nobody in; asked for if missing", prompt="Password: ", secret=True)
    ]
    pre_hashed_password: Annotated[
        bool, Arg("the password is given as its salted SHA-256 hash in Base64", "--pre-hashed-password")
    ] = False


def run(node: Node, args: Args) -> str:
    """Add the user. Raises Refused."""
    users = node.broker.users
    if not args.username:
        raise Refused("user cannot be an empty string")
    if users.get(args.username) is not None:
        raise Refused(f'User "{args.username}" already exists', EX_SOFTWARE)
    if args.pre_hashed_password:
        users.add_hashed(args.username, _hash(args.password), SHA256)
    else:
        users.add(args.username, args.password)
    return DONE


def _hash(text: str) -> bytes:
    try:
        octets = b64decode(text, validate=True)
    except ValueError:
        octets = b""
    # Four octets of salt and a SHA-256; RabbitMQ takes anything, and then no password ever fits.
    if len(octets) != 36:
        raise Refused("Could not Base64 decode provided password hash value")
    return octets


COMMAND = Command(
    name="add_user",
    section="Users",
    summary="Adds a user, who has no permissions in any virtual host yet",
    args=Args,
    effect="write",
    run=run,
    banner='Adding user "{username}" ...',
)

"""hash_password: the form of a password for add_user --pre-hashed-password and definitions files."""

from base64 import b64encode
from typing import Annotated, Any, NamedTuple

from pybroker.control.arguments.passwords import hashed
from pybroker.control.spec import Arg, Command, Node, Refused


class Args(NamedTuple):
    """The password."""

    password: Annotated[
        str,
        Arg(
            "password to hash, prompted for if omitted", metavar="cleartext_password", prompt="Password: ", secret=True
        ),
    ]


def run(node: Node, args: Args) -> dict[str, Any]:
    """Return salt and hash in Base64; another salt each time. Raises Refused."""
    if not args.password:
        raise Refused("password cannot be an empty string")
    octets, algorithm = hashed(node, args.password)
    text = b64encode(octets).decode()
    return node.result(text, password_hash=text, hashing_algorithm=algorithm)


COMMAND = Command(
    name="hash_password",
    section="Users",
    summary="Hashes a password as the node does",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    banner="Will hash provided password",
    app="any",
)

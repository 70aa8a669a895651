"""authenticate_user: would this password let the user in."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.passwords import fits
from pybroker.control.spec import Arg, Command, Node, Refused


class Args(NamedTuple):
    """Name and password."""

    username: Annotated[str, Arg("name of the user", names="user")]
    password: Annotated[str, Arg("password to try, prompted for if omitted", prompt="Password: ", secret=True)]


def run(node: Node, args: Args) -> str:
    """Try it. Raises Refused; an unknown user and a wrong password have the same text."""
    if not fits(node, args.username, args.password):
        name = args.username
        raise Refused(f"failed to authenticate user \"{name}\"\nuser '{name}' - invalid credentials")
    return "Success"


COMMAND = Command(
    name="authenticate_user",
    section="Users",
    summary="Checks the password of a user; exits with 65 if it is wrong",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    banner='Authenticating user "{username}" ...',
)

"""set_user_tags: replace a user's tags."""

from typing import Annotated, NamedTuple

from pybroker.control.access import TAGS
from pybroker.control.arguments.lookup import find_user
from pybroker.control.arguments.nearest import nearest
from pybroker.control.spec import Arg, Changed, Command, Node


class Args(NamedTuple):
    """The user and all tags."""

    username: Annotated[str, Arg("name of the user", names="user")]
    tags: Annotated[tuple[str, ...], Arg("all tags of the user; none removes all tags", "", "tag")] = ()


def warn(args: Args) -> str:
    """Name the tags that have no meaning here: a typing error would only show when the user is refused something."""
    unknown = [tag for tag in dict.fromkeys(args.tags) if tag not in TAGS]
    if not unknown:
        return ""
    named = ", ".join(f"'{tag}'" for tag in unknown)
    hints = "".join(nearest(tag, TAGS) for tag in unknown).replace("?. ", "? ")
    return f"{named}: no tag that has a meaning here; these have one: {', '.join(TAGS)}{hints}"


def run(node: Node, args: Args) -> Changed:
    """Replace the tags. Raises Refused."""
    user = find_user(node.broker, args.username)
    return Changed(node.broker.users.set_tags(user.name, dict.fromkeys(args.tags), node.cause))


COMMAND = Command(
    name="set_user_tags",
    section="Users",
    summary="Replaces the tags of a user",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner='Setting tags for user "{username}" to [{tags}] ...',
    warn=warn,
)

"""update_vhost_metadata: change a virtual host's description, tags, default queue type, deletion protection."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.commands.vhosts.add_vhost import QUEUE_TYPES
from pybroker.control.spec import Arg, BadArguments, Changed, Command, Node, split_columns


class Args(NamedTuple):
    """The virtual host, and what is to change; the rest stays."""

    vhost: Annotated[str, Arg("name of the virtual host", names="vhost")]
    description: Annotated[str | None, Arg("what it is for", "-d --description")] = None
    tags: Annotated[str | None, Arg("all its tags, separated by commas", "--tags", "tag1,tag2")] = None
    default_queue_type: Annotated[
        str | None,
        Arg(f"type of durable queues declared without one: {', '.join(QUEUE_TYPES)}", "--default-queue-type", "type"),
    ] = None
    protected_from_deletion: Annotated[
        str | None, Arg("true to refuse delete_vhost, false to allow it", "--protected-from-deletion", "true|false")
    ] = None


def check(args: Args) -> None:
    """Refuse a type that there is not, and a command that changes nothing. Raises BadArguments."""
    if args[1:] == (None, None, None, None):
        raise BadArguments(
            "Please specify at least one of --description, --tags, --default-queue-type, --protected-from-deletion"
        )
    if args.default_queue_type not in {None, *QUEUE_TYPES}:
        raise BadArguments("Unsupported default queue type")
    if args.protected_from_deletion not in {None, "true", "false"}:
        raise BadArguments("Bad argument: --protected-from-deletion must be true or false")


def run(node: Node, args: Args) -> Changed:
    """Change it. Queues that exist stay what they are. Raises Refused."""
    commit_position = find_vhost(node.broker, args.vhost).describe(
        description=args.description,
        tags=None if args.tags is None else split_columns([args.tags]),
        default_queue_type=args.default_queue_type,
        protected=None if args.protected_from_deletion is None else args.protected_from_deletion == "true",
        cause=node.cause,
    )
    return Changed(commit_position)


COMMAND = Command(
    name="update_vhost_metadata",
    section="Virtual hosts",
    summary="Changes description, tags, default queue type or deletion protection of a virtual host",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner='Updating metadata of vhost "{vhost}" ...',
    check=check,
)

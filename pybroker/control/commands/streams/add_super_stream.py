"""add_super_stream: make a super stream, with all its partitions."""

from functools import partial
from typing import Annotated, Final, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.names import check_name
from pybroker.control.arguments.removals import when_gone
from pybroker.control.arguments.tables import table_of
from pybroker.control.spec import EX_DATAERR, EX_USAGE, Arg, BadArguments, Changed, Command, Node, VHostArg
from pybroker.humanize import counted

PARTITIONS: Final = 3
PARTITIONS_MAX: Final = 1_000
# Behind its super stream's name, a partition's has a hyphen and its number or key.
NAME_OCTETS_MAX: Final = 250
LOCATORS: Final = ("client-local", "balanced", "least-leaders")


class Args(NamedTuple):
    """The super stream, its partitions, and what each of them may have."""

    super_stream: Annotated[str, Arg("name of the super stream")]
    partitions: Annotated[
        int | None,
        Arg(f"number of partitions (default: {PARTITIONS}); publishers choose by a hash", "--partitions", "number"),
    ] = None
    binding_keys: Annotated[
        str | None,
        Arg(
            "a partition for each of these keys, with commas between; publishers choose by key",
            "--binding-keys --routing-keys",
            "keys",
        ),
    ] = None
    hashed: Annotated[
        bool, Arg("let the exchange hash too, so that publishers of AMQP reach the same partitions", "--hash-exchange")
    ] = False
    max_length_bytes: Annotated[
        int | None, Arg("octets that each partition keeps at most", "--max-length-bytes", "number")
    ] = None
    max_age: Annotated[str | None, Arg("time that each keeps messages, such as 7D or 12h", "--max-age", "time")] = None
    segment_size: Annotated[
        int | None, Arg("octets of a segment file", "--stream-max-segment-size-bytes", "number")
    ] = None
    leader_locator: Annotated[
        str | None,
        Arg(f"taken, without effect on one node: {', '.join(LOCATORS)}", "--leader-locator", "name"),
    ] = None
    cluster_size: Annotated[
        int | None, Arg("taken, without effect on one node", "--initial-cluster-size", "number")
    ] = None
    vhost: VHostArg = "/"


def check(args: Args) -> None:
    """Refuse what cannot be. Raises BadArguments."""
    check_name("a super stream", args.super_stream)
    if not args.super_stream or len(args.super_stream.encode()) > NAME_OCTETS_MAX:
        raise BadArguments(f"Bad argument: a name has from 1 to {NAME_OCTETS_MAX} octets", EX_DATAERR)
    if args.partitions is not None and args.binding_keys is not None:
        raise BadArguments("Bad argument: --partitions and --binding-keys cannot be combined", EX_USAGE)
    if args.hashed and args.binding_keys is not None:
        raise BadArguments("Bad argument: --hash-exchange and --binding-keys cannot be combined", EX_USAGE)
    if not 0 < len(_partitions(args)) <= PARTITIONS_MAX:
        text = f"Bad argument: a super stream has from 1 to {PARTITIONS_MAX} partitions"
        raise BadArguments(text, EX_DATAERR)
    for option, value in (
        ("--max-length-bytes", args.max_length_bytes),
        ("--stream-max-segment-size-bytes", args.segment_size),
        ("--initial-cluster-size", args.cluster_size),
    ):
        if value is not None and value <= 0:
            raise BadArguments(f"Bad argument: {option} must be above 0", EX_DATAERR)
    if args.leader_locator is not None and args.leader_locator not in LOCATORS:
        text = f"Bad argument: --leader-locator must be one of {', '.join(LOCATORS)}"
        raise BadArguments(text, EX_DATAERR)


def run(node: Node, args: Args) -> Changed:
    """Make it, all or none. Raises Refused, AmqpError."""
    vhost, user = find_vhost(node.broker, args.vhost), node.broker.users.acting(node.user.name)
    wanted, arguments = _partitions(args), table_of(node, _arguments(args))
    make = partial(vhost.create_super_stream, user, args.super_stream, wanted, arguments, node.cause)
    commit_position = when_gone(node, partial(make, hashed=args.hashed))
    return Changed(commit_position, f"Super stream was made with {counted(len(wanted), 'partition')}")


def _partitions(args: Args) -> list[tuple[str, str]]:
    """Return the streams to make, and the keys that lead to them."""
    if args.binding_keys is not None:
        keys = [key.strip() for key in args.binding_keys.split(",") if key.strip()]
    else:
        count = PARTITIONS if args.partitions is None else args.partitions
        keys = [str(number) for number in range(min(count, PARTITIONS_MAX + 1))]
    return [(f"{args.super_stream}-{key}", key) for key in keys]


def _arguments(args: Args) -> dict[str, int | str]:
    values = {
        "x-max-length-bytes": args.max_length_bytes,
        "x-max-age": args.max_age,
        "x-stream-max-segment-size-bytes": args.segment_size,
        "x-queue-leader-locator": args.leader_locator,
        "x-initial-cluster-size": args.cluster_size,
    }
    return {name: value for name, value in values.items() if value is not None}


COMMAND = Command(
    name="add_super_stream",
    section="Streams",
    summary="Makes a super stream: an exchange, and a stream for each partition",
    args=Args,
    effect="write",
    access="management",
    run=run,
    check=check,
    banner="Adding super stream '{super_stream}' to vhost '{vhost}' ...",
    examples=(
        "pybrokerctl add_super_stream orders --partitions 12 --max-age 7D",
        "pybrokerctl add_super_stream invoices --binding-keys emea,apac,amer",
    ),
)

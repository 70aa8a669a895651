"""pipeline_tap: a stream keeps a copy of what goes through an exchange."""

from functools import partial
from typing import Annotated, Any, Final, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.names import NAME_OCTETS_MAX, check_name
from pybroker.control.arguments.pipeline import SECTION
from pybroker.control.arguments.removals import is_over, when_gone
from pybroker.control.arguments.tables import table_of
from pybroker.control.spec import EX_DATAERR, EX_USAGE, Arg, BadArguments, Changed, Command, Node, VHostArg
from pybroker.humanize import counted

# A tap that nobody looks at must not fill the disk.
LENGTH_OCTETS_MAX: Final = 1_000_000_000


class Args(NamedTuple):
    """The exchange, the stream, and what of it the stream keeps for how long."""

    exchange: Annotated[str, Arg("exchange whose messages are kept", names="exchange")]
    stream: Annotated[str, Arg("stream that keeps them; made if it does not exist", "--stream", "name", names="queue")]
    key: Annotated[
        tuple[str, ...],
        Arg(
            "binding key, repeatable (default: all messages); a direct exchange needs the exact keys",
            "--key --routing-key",
            "key",
        ),
    ] = ()
    max_age: Annotated[
        str | None, Arg("time that a new stream keeps messages, such as 7D or 12h", "--max-age", "time")
    ] = None
    max_length_bytes: Annotated[
        int | None,
        Arg(
            f"octets that a new stream keeps (default without --max-age: {LENGTH_OCTETS_MAX})",
            "--max-length-bytes",
            "number",
        ),
    ] = None
    remove: Annotated[bool, Arg("end the tap; the stream stays, with its messages", "--remove")] = False
    vhost: VHostArg = "/"


def check(args: Args) -> None:
    """Refuse what cannot be. Raises BadArguments."""
    check_name("a stream", args.stream)
    if not args.stream:
        raise BadArguments("Bad argument: --stream must not be empty", EX_DATAERR)
    if any(len(key.encode()) > NAME_OCTETS_MAX for key in args.key):
        raise BadArguments(f"a routing key may have at most {NAME_OCTETS_MAX} octets", EX_DATAERR)
    if args.max_length_bytes is not None and args.max_length_bytes <= 0:
        raise BadArguments("Bad argument: --max-length-bytes must be above 0", EX_DATAERR)
    if args.remove and (args.max_age is not None or args.max_length_bytes is not None):
        raise BadArguments("Bad argument: --remove cannot be combined with --max-age or --max-length-bytes", EX_USAGE)


def run(node: Node, args: Args) -> Changed:
    """Open the tap, or close it. Raises Refused, AmqpError."""
    vhost, user = find_vhost(node.broker, args.vhost), node.broker.users.acting(node.user.name)
    facts: dict[str, Any] = {"exchange": args.exchange, "stream": args.stream, "vhost": args.vhost}
    if args.remove:
        removals = vhost.close_tap(user, args.exchange, args.stream, args.key, node.cause)
        position = max(is_over(node, removal).commit_position for removal in removals)
        what = f" by {counted(len(removals), 'binding')}" if args.key else ""
        text = f"Stream '{args.stream}' gets nothing from exchange '{args.exchange}' any more{what}"
        return Changed(position, node.result(text, **facts, bindings=len(removals)))
    wanted = None if (own := _arguments(args, exists=args.stream in vhost.queues)) is None else table_of(node, own)
    where = (args.exchange, args.stream, args.key)
    position, made = when_gone(node, partial(vhost.open_tap, user, *where, wanted, node.cause))
    text = f"{'New stream' if made else 'Stream'} '{args.stream}' keeps what goes through exchange '{args.exchange}'"
    return Changed(position, node.result(text, **facts, made=made))


def _arguments(args: Args, *, exists: bool) -> dict[str, int | str] | None:
    """Return those that the stream is to have; None: as it is."""
    given = {"x-max-age": args.max_age, "x-max-length-bytes": args.max_length_bytes}
    own = {name: value for name, value in given.items() if value is not None}
    return own or (None if exists else {"x-max-length-bytes": LENGTH_OCTETS_MAX})


def _banner(args: Args) -> str:
    begin = "Ending the tap of" if args.remove else "Tapping"
    return begin + " exchange '{exchange}' into stream '{stream}' in vhost '{vhost}' ..."


COMMAND = Command(
    name="pipeline_tap",
    section=SECTION,
    summary="Has a stream keep a copy of the messages that go through an exchange",
    args=Args,
    effect="write",
    access="management",
    run=run,
    check=check,
    banner=_banner,
    examples=(
        "pybrokerctl pipeline tap orders --stream orders-tap --max-age 7D",
        "pybrokerctl pipeline tap orders --stream orders-tap --key 'eu.#' --key 'us.#'",
        "pybrokerctl pipeline tap orders --stream orders-tap --remove",
    ),
)

"""pipeline_search: which messages of a stream have something in them, and which way they went."""

from os import EX_USAGE
from typing import Annotated, Any, NamedTuple

from pybroker.control.arguments.pipeline import (
    SECTION,
    HostArg,
    PasswordFileArg,
    StreamArg,
    StreamPortArg,
    SuperStreamArg,
    UriFileArg,
    UserArg,
    connection,
)
from pybroker.control.spec import Arg, BadArguments, Command, Node, VHostArg

LIMIT = 100


class Args(NamedTuple):
    """The stream, what is searched for, and the connection."""

    stream: StreamArg = None
    super_stream: SuperStreamArg = None
    key: Annotated[
        str | None,
        Arg("routing key, or a pattern as a topic exchange has it: orders.*.paid, orders.#", "--key", "pattern"),
    ] = None
    header: Annotated[
        tuple[str, ...], Arg("header and its value; if repeated, all of them", "--header", "name=value")
    ] = ()
    text: Annotated[str | None, Arg("text that the body contains", "--text", "text")] = None
    correlation_id: Annotated[str | None, Arg("correlation id", "--correlation-id", "id")] = None
    message_id: Annotated[str | None, Arg("message id", "--message-id", "id")] = None
    since: Annotated[
        str | None,
        Arg("only messages that came since: 1h (ago), 7d, or a time such as 2026-05-01T12:00 (UTC)", "--since", "time"),
    ] = None
    until: Annotated[str | None, Arg("only messages that came before: likewise", "--until", "time")] = None
    limit: Annotated[int, Arg(f"number of messages shown at most (default: {LIMIT})", "-c --limit", "number")] = LIMIT
    vhost: VHostArg = "/"
    host: HostArg = None
    stream_port: StreamPortArg = None
    username: UserArg = None
    password_file: PasswordFileArg = None
    uri_file: UriFileArg = None


def check(args: Args) -> None:
    """Raise BadArguments for what makes no sense."""
    if args.stream is None and args.super_stream is None:
        raise BadArguments("Bad argument: --stream or --super-stream is needed", EX_USAGE)
    if args.stream is not None and args.super_stream is not None:
        raise BadArguments("Bad argument: --stream and --super-stream cannot be combined", EX_USAGE)
    for name in ("key", "text", "correlation_id", "message_id"):
        if getattr(args, name) == "":
            raise BadArguments(f"Bad argument: --{name.replace('_', '-')} must not be empty", EX_USAGE)
    if args.limit < 1:
        raise BadArguments("Bad argument: --limit must be above 0", EX_USAGE)
    for word in args.header:
        if not word.partition("=")[0] or "=" not in word:
            raise BadArguments(f"Bad argument: --header is NAME=VALUE, not {word!r}", EX_USAGE)


def run(node: Node, args: Args) -> dict[str, Any]:
    """Return the words."""
    del node
    words = ["search", *connection(args), "--limit", str(args.limit)]
    for name in ("key", "text", "correlation_id", "message_id", "since", "until"):
        value = getattr(args, name)
        # With the equals sign a value may begin with a dash.
        words += [] if value is None else [f"--{name.replace('_', '-')}={value}"]
    return {"words": [*words, *(f"--header={word}" for word in args.header)]}


COMMAND = Command(
    name="pipeline_search",
    section=SECTION,
    summary="Finds messages in a stream, such as a tap, by header, key, text, time or id",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    check=check,
    one_of=(("stream", "super_stream"),),
    app="any",
    offline="pipeline",
    examples=(
        "pybrokerctl pipeline search --stream orders-tap --correlation-id 7f3a --since 1h",
        "pybrokerctl pipeline search --super-stream orders --header region=eu --text '\"total\":0'",
    ),
)

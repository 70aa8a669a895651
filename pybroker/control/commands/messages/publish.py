"""publish: publish a message to an exchange or a queue, and wait until it is safe."""

import json
import os
from base64 import b64decode
from binascii import Error
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn

from pybroker.control.arguments.lookup import find_exchange, find_queue, find_vhost
from pybroker.control.arguments.messages import check_count
from pybroker.control.arguments.nearest import nearest
from pybroker.control.spec import (
    EX_DATAERR,
    EX_TEMPFAIL,
    EX_USAGE,
    Arg,
    BadArguments,
    Command,
    Node,
    Progress,
    Refused,
    VHostArg,
)
from pybroker.errors import ContentTooLarge, NoRoute, PreconditionFailed

if TYPE_CHECKING:
    from collections.abc import Generator

    from pybroker.core.operator.publish import Outgoing

COUNT_MAX = 1_000_000
# Between two looks whether it is on disk.
PAUSE_S = 0.001
# Queues that an error names.
NAMES_SHOWN = 5
KINDS = (
    *("string", "longstr", "bool", "byte", "unsignedbyte", "short", "unsignedshort", "int", "signedint", "unsignedint"),
    *("long", "float", "double", "decimal", "timestamp", "binary", "void", "json", "table", "array"),
)


class Args(NamedTuple):
    """The target, the message, and how often."""

    body: Annotated[str | None, Arg("body of the message", secret=True)] = None
    vhost: VHostArg = "/"
    queue: Annotated[str, Arg("publish to this queue, by the default exchange", "--queue", "queue", names="queue")] = ""
    exchange: Annotated[str, Arg("publish to this exchange", "-e --exchange", "exchange", names="exchange")] = ""
    routing_key: Annotated[str, Arg("routing key, for --exchange (default: empty)", "-k --routing-key", "key")] = ""
    file: Annotated[str | None, Arg("read the body from a file; - is standard input", "-f --file", "file")] = None
    property: Annotated[
        tuple[str, ...],
        Arg(
            "property, as NAME=VALUE: content_type, content_encoding, delivery_mode (default: 2, persistent), "
            "priority, correlation_id, reply_to, expiration (milliseconds), message_id, timestamp (seconds), type, "
            "user_id, app_id, cluster_id; may be repeated",
            "-P --property",
            "name=value",
        ),
    ] = ()
    header: Annotated[
        tuple[str, ...],
        Arg(
            "header, as NAME=VALUE for a string, or NAME:TYPE=VALUE; types are string, bool, byte, short, int, long, "
            "unsignedbyte, unsignedshort, unsignedint, float, double, decimal, timestamp (seconds), binary (base64), "
            "void, or json for tables and arrays; may be repeated",
            "-H --header",
            "name=value",
        ),
    ] = ()
    number: Annotated[
        int, Arg(f"how often to publish it (default: 1, maximum: {COUNT_MAX})", "-c --count", "number")
    ] = 1


def check(args: Args) -> None:
    """Refuse what does not say what to publish, or where. Raises BadArguments."""
    if bool(args.queue) + bool(args.exchange) != 1:
        raise BadArguments("Bad argument: specify --queue, or --exchange with --routing-key", EX_USAGE)
    if args.queue and args.routing_key:
        raise BadArguments("Bad argument: --routing-key requires --exchange", EX_USAGE)
    if (args.body is None) == (args.file is None):
        raise BadArguments("Bad argument: specify a body, --file FILE, or --file - for standard input", EX_USAGE)
    check_count(args.number, COUNT_MAX)
    pairs(args.property, "--property")
    headers(args.header)


def pairs(words: tuple[str, ...], option: str) -> dict[str, str]:
    """Return names and values from NAME=VALUE. Raises BadArguments."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise BadArguments(f"Bad argument: {option}: expected NAME=VALUE, not '{word}'", EX_DATAERR)
        found[name.replace("-", "_") if option == "--property" else name] = value
    return found


def headers(words: tuple[str, ...]) -> list[tuple[str, str, Any]]:
    """Return names, types and values from NAME=VALUE or NAME:TYPE=VALUE. Raises BadArguments."""
    found: list[tuple[str, str, Any]] = []
    for label, value in pairs(words, "--header").items():
        name, colon, kind = label.rpartition(":")
        if not colon:
            found.append((label, "string", value))
        elif kind not in KINDS and (hint := nearest(kind, KINDS)):
            raise BadArguments(
                f"Bad argument: --header: unknown type '{kind}' in '{label}'{hint} If the colon belongs to the name, "
                f"write {label}:string={value}",
                EX_DATAERR,
            )
        elif kind not in KINDS:
            found.append((label, "string", value))
        elif kind in {"json", "table", "array"}:
            try:
                found.append((name, kind, json.loads(value, parse_constant=_refuse_constant)))
            except (ValueError, RecursionError) as error:
                raise BadArguments(f"Bad argument: --header: '{value}' is not JSON: {error}", EX_DATAERR) from None
        else:
            found.append((name, kind, value))
    return found


def _refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python reads and JSON does not have. Raises ValueError."""
    raise ValueError(f"it has no {name}")


def run(node: Node, args: Args) -> "Generator[Progress, None, dict[str, Any]]":
    """Publish it, and return when it is as safe as it gets.

    Raises Refused: the message cannot be, there is no such target, no queue takes it, one refuses it, the node accepts
    none; AmqpError.
    """
    body = args.body.encode() if args.body is not None else body_of_lines(node)
    vhost = find_vhost(node.broker, args.vhost)
    if args.queue:
        find_queue(vhost, args.queue)
    else:
        find_exchange(vhost, args.exchange)
    try:
        outgoing = vhost.compose(
            node.broker.users.acting(node.user.name),
            node.cause,
            exchange=args.exchange,
            routing_key=args.queue or args.routing_key,
            properties={"delivery_mode": "2", **pairs(args.property, "--property")},
            headers=headers(args.header),
            body=body,
        )
    except (PreconditionFailed, ContentTooLarge) as error:
        raise Refused(error.text, EX_DATAERR) from None
    return (yield from _publish(node, args, outgoing))


def _publish(node: Node, args: Args, outgoing: "Outgoing") -> "Generator[Progress, None, dict[str, Any]]":
    done = 0
    reached: dict[str, None] = {}
    is_lasting = True
    while done < args.number:
        if node.broker.alarms:
            short = " and ".join(node.broker.alarms.resources)
            raise Refused(_after(done, f"the node is short of {short}: it accepts no messages"), EX_TEMPFAIL)
        try:
            sent = outgoing.publish(outgoing.share(args.number - done))
        except NoRoute:
            where = f"exchange '{args.exchange}' routes nothing with the routing key '{args.routing_key}'"
            raise Refused(_after(done, f"unroutable: {where}"), facts={"published": done}) from None
        while not sent.receipt.completed:
            if sent.receipt.failed:
                raise Refused(_after(done, f"not stored: {sent.receipt.failed}"), os.EX_IOERR, {"published": done})
            node.pause(PAUSE_S)
        done += sent.messages - sent.rejected
        if sent.rejected:
            text = f"{_one_of(sent.destinations)} refused it: the queue is full, or its publishers are paused"
            raise Refused(_after(done, text), EX_TEMPFAIL, {"published": done})
        reached |= dict.fromkeys(sent.destinations)
        is_lasting = is_lasting and sent.lasting
        yield Progress(done, args.number)
    return _told(node, done, list(reached), on_disk=is_lasting)


def _told(node: Node, done: int, reached: list[str], *, on_disk: bool) -> dict[str, Any]:
    """Return what was done as a document."""
    messages = "1 message" if done == 1 else f"{done:,} messages"
    queues = f"queue '{reached[0]}'" if len(reached) == 1 else f"{len(reached)} queues"
    safe = "on disk" if on_disk else "in memory only: the message or the queue is transient"
    return node.result(
        f"{messages} published to {queues} and confirmed ({safe})", published=done, queues=reached, on_disk=on_disk
    )


def _one_of(names: tuple[str, ...]) -> str:
    """Return a phrase for one of these queues."""
    if len(names) == 1:
        return f"queue '{names[0]}'"
    shown = ", ".join(f"'{name}'" for name in names[:NAMES_SHOWN])
    return f"one of the {len(names)} queues that it is routed to ({shown}{', …' if len(names) > NAMES_SHOWN else ''})"


def _after(done: int, text: str) -> str:
    return f"{text}. {done:,} were published before." if done else text


def body_of_lines(node: Node) -> bytes:
    """Return the body that the caller sends behind the request, in base64. Raises Refused."""
    parts = []
    for line in node.lines:
        try:
            parts.append(b64decode(line, validate=True))
        except (TypeError, Error):
            raise Refused("a body is sent as text in base64") from None
    return b"".join(parts)


COMMAND = Command(
    name="publish",
    section="Messages",
    summary="Publishes a message to a queue or an exchange, and waits until it is confirmed",
    args=Args,
    effect="write",
    access="management",
    run=run,
    check=check,
    one_of=(("body", "file"), ("queue", "exchange")),
    banner="Publishing in vhost '{vhost}' ...",
    takes_lines=True,
    examples=(
        "pybrokerctl publish '{\"id\": 17}' --queue orders --property content_type=application/json",
        "pybrokerctl publish --file body --exchange events --routing-key order.new --header attempt:int=1",
        "gzip -c report | pybrokerctl publish --file - --queue reports --property content_encoding=gzip",
    ),
)

"""Messages as their reader wants them: text for people, JSON for programs, bodies as they are, or a table.

A message is whatever its publisher likes: nothing of it reaches a terminal unescaped.
"""

import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from json import dumps
from pathlib import Path
from typing import Any, Final

from pybroker.control.arguments.messages import BODY_SIZE_MAX
from pybroker.control.codec import DOCUMENT_OCTETS_MAX
from pybroker.control.spec import BadArguments, Command, Refused
from pybroker.text.body_text import decoded
from pybrokerctl import render
from pybrokerctl.options import Options
from pybrokerctl.render import cell
from pybrokerctl.terminal import terminal

# Of a table.
COLUMNS: Final = (
    "seq",
    "state",
    "redelivered",
    "exchange",
    "routing_key",
    "age_ms",
    "content_type",
    "size",
    "body_format",
    "body",
)
# The same of messages of a stream.
STREAM_COLUMNS: Final = ("offset", *(name for name in COLUMNS if name not in {"seq", "state", "redelivered"}))
OPTION: Final = "--format"
# Commands that send a body behind the request.
BODIES: Final = frozenset({"publish"})
STANDARD: Final = "-"
# In base64 it is a third longer, and must fit into what may follow a request.
BODY_OCTETS_MAX: Final = DOCUMENT_OCTETS_MAX * 3 // 4 - 1_048_576
LINE_OCTETS: Final = 196_608
# How errors and banners are shown beside each format.
_BESIDE: Final = {"json": "json", "ndjson": "json", "csv": "csv", "raw": "csv"}
INDENT: Final = "  "


def has_format(command: Command) -> bool:
    """Tell whether a command shows messages, so that its --format is the general --formatter as well."""
    return any(OPTION in field.arg.flags.split() for field in command.fields()) and bool(command.streams)


def read_format(given: dict[str, Any], general: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return arguments and general options that agree. Raises BadArguments: octets as they are, on a terminal."""
    chosen = given.get("format", general.get("formatter"))
    if chosen == "raw" and sys.stdout.isatty():
        raise BadArguments("Bad argument: --format raw writes octets as they are: redirect them to a file or a pipe")
    others = {name: value for name, value in general.items() if name != "formatter"}
    if chosen is None:
        return given, others
    beside = _BESIDE.get(chosen, "table")
    return {**given, "format": chosen}, {**others, "formatter": beside}


def body_lines(args: Any) -> list[bytes]:
    """Return the lines that are sent of a body in a file, none for another one. Raises Refused."""
    if args.file is None:
        return [b'{"end":0}\n']
    try:
        if args.file == STANDARD:
            body = sys.stdin.buffer.read(BODY_OCTETS_MAX + 1)
        else:
            with Path(args.file).open("rb") as stream:
                body = stream.read(BODY_OCTETS_MAX + 1)
    except OSError as error:
        raise Refused(f"Could not read from file {args.file}: {error.strerror}") from None
    if len(body) > BODY_OCTETS_MAX:
        raise Refused(f"the body is too large: {BODY_OCTETS_MAX} octets are the maximum; use an AMQP client")
    parts = [body[at : at + LINE_OCTETS] for at in range(0, len(body), LINE_OCTETS)]
    return [*[b'"%b"\n' % b64encode(part) for part in parts], b'{"end":%d}\n' % len(parts)]


def texts(
    args: Any,
    batches: Iterable[list[list[dict[str, Any]]]],
    options: Options,
    facts: Callable[[], Mapping[str, Any]] = dict,
) -> Iterator[str]:
    """Yield the text of messages, which come as documents, batch by batch; `facts` tells what came with the last."""
    found = _whole(args, ([row[0] for row in batch] for batch in batches))
    match args.format:
        case "json":
            yield from _array(found)
        case "ndjson":
            for batch in found:
                yield "".join(_json(one) + "\n" for one in batch)
        case "raw":
            yield from _raw(found)
        case "table" | "pretty_table" | "csv":
            names = STREAM_COLUMNS if hasattr(args, "stream") else COLUMNS
            head = render.Head(names, show=options.headers, pad=options.pad)
            yield from render.load(args.format).rows(head, ([_row(names, one) for one in batch] for batch in found))
        case _:
            yield from _text(args, found, options, facts)


def _whole(args: Any, batches: Iterable[list[dict[str, Any]]]) -> Iterator[list[dict[str, Any]]]:
    """Yield documents with their whole bodies, decoded but for raw ones: long bodies come in parts, as they are."""
    last: dict[str, Any] = {}
    parts: list[str] = []
    left = 0
    for batch in batches:
        found = []
        for one in batch:
            if left:
                left -= 1
                parts.append(one["body_part"])
            elif "body_parts" in one:
                left = one.pop("body_parts")
                last, parts = one, [one["body"]]
            else:
                found.append(one)
                continue
            if not left:
                found.append(_joined(args, last, parts))
        if found:
            yield found


def _joined(args: Any, one: dict[str, Any], parts: list[str]) -> dict[str, Any]:
    """Return a document with a body that came in parts."""
    if args.format == "raw":
        return {**one, "body": "".join(parts)}
    octets = b"".join(map(b64decode, parts))
    properties = one["properties"]
    octets_max = BODY_SIZE_MAX if args.body_size is None else args.body_size
    body = decoded(octets, one["size"], properties.get("content_type"), properties.get("content_encoding"), octets_max)
    return {**one, "body": body.value, "body_format": body.format, "body_cut": body.is_cut}


def _array(batches: Iterable[list[dict[str, Any]]]) -> Iterator[str]:
    yield "[\n"
    comma = ""
    for batch in batches:
        for one in batch:
            yield f"{comma}{_json(one)}\n"
            comma = ","
    yield "]\n"


def _json(one: dict[str, Any]) -> str:
    return cell.json_escaped(dumps(one, separators=(",", ":"), ensure_ascii=False))


def _row(names: Iterable[str], one: dict[str, Any]) -> list[Any]:
    body = one["body"] if isinstance(one["body"], str) else dumps(one["body"], separators=(",", ":"))
    shown = {**one["properties"], **one, "body": body + "..." * one["body_cut"]}
    values = (shown.get(name) for name in names)
    return [cell.lines(value) if isinstance(value, str) else value for value in values]


def _raw(batches: Iterable[list[dict[str, Any]]]) -> Iterator[str]:
    """Write bodies as they were published, a line end between two of them; yield nothing."""
    between = b""
    for batch in batches:
        for one in batch:
            sys.stdout.flush()
            sys.stdout.buffer.write(between + b64decode(one["body"]))
            between = b"\n"
            if one["body_cut"]:
                place = one["offset"] if "offset" in one else one["seq"]
                sys.stderr.write(f"note: the body of message {place} is cut: it has {one['size']:,} octets\n")
        sys.stdout.buffer.flush()
    yield ""


def _text(
    args: Any, batches: Iterable[list[dict[str, Any]]], options: Options, facts: Callable[[], Mapping[str, Any]]
) -> Iterator[str]:
    """Yield messages for people, and how to go on."""
    count = 0
    last: dict[str, Any] = {}
    for batch in batches:
        for one in batch:
            yield ("\n" if count else "") + _block(one)
            last = one
            count += 1
    if not options.talks:
        return
    if hasattr(args, "stream"):
        yield _onwards(args, count, last, facts())
    elif not count:
        chosen = (
            getattr(args, "where", None) or getattr(args, "match", None) or getattr(args, "start", "head") != "head"
        )
        yield f"{'No such messages' if chosen else 'No messages'}.{_not_shown(args, facts())}\n"
    elif hasattr(args, "start") and count == args.number and not args.delayed:
        backwards = args.newest_first or args.start == "tail"
        priority, colon, seq = last["position"].rpartition(":")
        onwards = f"--from {priority}{colon}{int(seq) + (-1 if backwards else 1)}"
        yield f"\nFor more: {onwards}{' --newest-first' * backwards}\n"


def _onwards(args: Any, count: int, last: dict[str, Any], facts: Mapping[str, Any]) -> str:
    """Return how to go on in a stream, or where it has messages."""
    if count:
        return f"\nFor more: --from {last['offset'] + 1}\n" if count == args.messages_max else ""
    first, following = facts.get("first_offset", 0), facts.get("next_offset", 0)
    there = f"offsets {first} to {following - 1}" if first < following else "no messages"
    return f"No such messages. The stream has {there}.\n"


def _not_shown(args: Any, facts: Mapping[str, Any]) -> str:
    """Return how many messages the queue has in states that were not asked for, and how to see them."""
    unacked, delayed = getattr(args, "unacked", False), getattr(args, "delayed", False)
    see = "see" if hasattr(args, "unacked") else "see peek_messages"
    found = [
        (facts.get("messages_ready", 0) * delayed, "ready (without --delayed)"),
        (facts.get("messages_unacknowledged", 0) * (not unacked), f"unacknowledged ({see} --unacked)"),
        (facts.get("messages_delayed", 0) * (not delayed), f"delayed until a retry ({see} --delayed)"),
    ]
    told = ", ".join(f"{count:,} {where}" for count, where in found if count)
    return f" Not shown: {told}." if told else ""


def _block(one: dict[str, Any]) -> str:
    """Return one message in lines: the place, the route, properties and headers, the body."""
    shown = terminal.bold if terminal.has_colour(sys.stdout) else str
    if "offset" in one:
        lines = [shown(f"message {one['offset']}")]
    else:
        lines = [shown(f"message {one['position']}") + f"  {_state(one)}"]
    lines.append(f"{INDENT}arrived {one['arrived_at']}, {_age(one['age_ms'])} ago" + _until(one))
    if "consumer_tag" in one:
        tag = one["consumer_tag"]
        holder = f"consumer {_cell(tag)}" if tag is not None else "basic.get"
        called = f" ({_cell(one['user_provided_name'])})" if one.get("user_provided_name") else ""
        lines.append(
            f"{INDENT}with {holder} on channel {one['channel']} of {one['connection_pid']} {_cell(one['connection'])}"
            f"{called}, user {_cell(one['user'])}, for {_age(one['unacknowledged_ms'])}"
        )
    lines.append(f"{INDENT}exchange {_cell(one['exchange']) or '(default)'}, routing key {_cell(one['routing_key'])}")
    lines += [f"{INDENT}{name}: {_cell(value)}" for name, value in one["properties"].items()]
    lines += [f"{INDENT}header {_cell(name)}: {_cell(value)}" for name, value in one["headers"].items()]
    lines.append(f"{INDENT}body: {_described(one)}")
    if one["body"] != "":
        body = one["body"] if one["body_format"] != "json" else dumps(one["body"], ensure_ascii=False, indent=2)
        lines += [f"{INDENT * 2}{line}" for line in cell.lines(body).splitlines()]
    return "\n".join(lines) + "\n"


def _state(one: dict[str, Any]) -> str:
    if not one["redelivered"]:
        return str(one["state"])
    times = one["deliveries"]
    return f"{one['state']}, redelivered" + (f" (delivered {times} times before)" if times > 1 else "")


def _cell(value: Any) -> str:
    return cell.cell(value) if isinstance(value, str) else cell.cell(_json(value))


def _described(one: dict[str, Any]) -> str:
    size = f"{one['size']:,} octet{'s' * (one['size'] != 1)}"
    if not one["size"]:
        return "empty"
    kind = {"hex": "in hexadecimal", "json": "JSON"}.get(one["body_format"], one["body_format"])
    return f"{size}, {kind}" + (", cut here (--body-size shows more)" if one["body_cut"] else "")


def _until(one: dict[str, Any]) -> str:
    due = f", expires {one['expires_at']} at the head" if one.get("expires_at") else ""
    return due + (f", due {one['due_at']}" if "due_at" in one else "")


def _age(ms: int) -> str:
    """Return a time for people, in two units at most."""
    seconds = ms // 1_000
    if seconds < 1:
        return f"{ms} ms"
    parts = []
    for name, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        if seconds >= size:
            parts.append(f"{seconds // size} {name}")
            seconds %= size
    return " ".join(parts[:2])

"""Definitions documents as files of the caller: read and sent in lines, received in rows and written; plans shown.

The node never opens them: callers cannot read or write more than they could anyway. Knows JSON and nothing of what is
in the sections.
"""

import errno
import os
import stat
import sys
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pybroker.control.codec import DOCUMENT_OCTETS_MAX, BadLine, document_lines
from pybroker.control.spec import EX_DATAERR, BadArguments, Refused
from pybrokerctl import exit_codes, messages, render
from pybrokerctl.render import cell
from pybrokerctl.terminal import terminal

if TYPE_CHECKING:
    from pybroker.control.spec import Command
    from pybrokerctl.call import Call

EXPORT: Final = "export_definitions"
PLAN: Final = "definitions_plan"
COMMANDS: Final = frozenset({EXPORT, PLAN})
STANDARD: Final = "-"

# Of this some may be blanks.
FILE_OCTETS_MAX: Final = 4 * DOCUMENT_OCTETS_MAX

# Prefix of RabbitMQ's modules that hash passwords.
HASHES: Final = "rabbit_password_hashing_"
HASH_ADVICE: Final = f"(for new passwords, set password_hashing_module = {HASHES}sha256 in pybroker.conf)"


def prepare(command: "Command", args: Any) -> list[bytes]:
    """Look at the file before a node is asked; return the lines that are sent of it. Raises Refused, BadArguments."""
    if command.name in messages.BODIES:
        return messages.body_lines(args)
    if command.takes_lines:
        return _lines(args.file)
    if command.name == EXPORT and args.file != STANDARD:
        _check_target(args.file)
    return []


def texts(
    call: "Call", args: Any, head: render.Head, batches: Iterable[render.Rows]
) -> Generator[str, None, int | None]:
    """Yield what an answer in rows is shown as; return the exit code."""
    if call.command.name == PLAN:
        return (yield from _plan(call, head, batches))
    others: list[str] = []
    pieces = _document(_noting(batches, others))
    if args.file == STANDARD:
        yield from pieces
    else:
        _write(args.file, pieces)
        yield from render.load(call.options.formatter).value(None, "") if call.options.formatter == "json" else ()
    if others and call.options.talks:
        users = f"user '{others[0]}'" if len(others) == 1 else f"{len(others)} users"
        text = (
            f"{users} could not log in to RabbitMQ after an import, because RabbitMQ does not support their "
            "password hashes"
        )
        sys.stderr.write(f"note: {cell.lines(text)} {HASH_ADVICE}\n")
    return None


# -- from a file ------------------------------------------------------------------------------------------------------


def _lines(file: str | None) -> list[bytes]:
    """Return what is sent of a file. Raises Refused."""
    document = _parse(_read(file), file)
    try:
        lines = list(document_lines(document))
    except BadLine as error:
        raise Refused(str(error)) from None
    octets = sum(map(len, lines))
    if octets > DOCUMENT_OCTETS_MAX:
        raise Refused(_too_large(file, octets))
    return [*lines, b'{"end":%d}\n' % len(lines)]


def _too_large(file: str | None, octets: int) -> str:
    where = "Standard input" if file in (None, STANDARD) else f"File {file}"
    return (
        f"{where} is too large: its definitions have {octets} octets, and the maximum is "
        f"{DOCUMENT_OCTETS_MAX}; import it in parts, or let the node load it at its start (load_definitions)"
    )


def _read(file: str | None) -> bytes:
    """Return a file's octets, standard input's without one. Raises Refused with rabbitmqctl's texts."""
    if file in (None, STANDARD):
        content = sys.stdin.buffer.read(FILE_OCTETS_MAX + 1)
        if not content:
            raise Refused("Standard input is empty")
        return _checked(file, content)
    assert file is not None
    try:
        with Path(file).open("rb") as stream:
            content = stream.read(FILE_OCTETS_MAX + 1)
    except OSError as error:
        told = {
            errno.ENOENT: f"File {file} does not exist",
            errno.ENOTDIR: f"Parent directory of file {file} is not a directory",
            errno.EISDIR: f"Path {file} is a directory",
            errno.EACCES: f"No permissions to read from file {file} or its parent directory",
        }
        raise Refused(told.get(error.errno or 0, f"Could not read from file {file}: {error.strerror}")) from None
    if not content:
        raise Refused(f"File {file} is zero-sized")
    return _checked(file, content)


def _checked(file: str | None, content: bytes) -> bytes:
    if len(content) > FILE_OCTETS_MAX:
        raise Refused(_too_large(file, len(content)))
    return content


def _parse(content: bytes, file: str | None) -> dict[str, Any]:
    import json  # noqa: PLC0415 - two commands

    where = "Standard input" if file in (None, STANDARD) else f"File {file}"
    try:
        document = json.loads(content, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise Refused(f"{where}: Failed to deserialise input (format: JSON) (error: {error})") from None
    if not isinstance(document, dict):
        raise Refused(f"{where}: Failed to deserialise input (format: JSON) (error: it is not an object)")
    return document


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# -- into a file ------------------------------------------------------------------------------------------------------


def _document(batches: Iterable[render.Rows]) -> Iterator[str]:
    """Yield a document, an item a line: two of them can be compared by diff."""
    import json  # noqa: PLC0415 - one command

    dump = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
    before, is_open, is_first = "{", False, True
    for batch in batches:
        pieces = []
        for section, item in batch:
            if isinstance(item, dict):
                pieces.append(f"{'' if is_first else ','}\n{dump(item)}")
                is_first = False
                continue
            pieces.append(f"{']' if is_open else ''}{before}\n{dump(section)}:{'[' if item is None else dump(item)}")
            before, is_open, is_first = ",", item is None, True
        yield "".join(pieces)
    yield f"{']' if is_open else ''}}}\n"


def _noting(batches: Iterable[render.Rows], others: list[str]) -> Iterator[render.Rows]:
    """Yield the rows; keep names of users whose passwords are hashed as RabbitMQ does not know."""
    for batch in batches:
        others += (
            str(item["name"])
            for section, item in batch
            if section == "users" and item and not str(item.get("hashing_algorithm")).startswith(HASHES)
        )
        yield batch


def _check_target(file: str) -> None:
    """Refuse what cannot become a file, before anything is done. Raises BadArguments with rabbitmqctl's texts."""
    folder = Path(file).parent
    try:
        mode = folder.stat().st_mode
    except OSError as error:
        if error.errno == errno.ENOTDIR:
            raise BadArguments(f"Parent directory of file {file} is not a directory", EX_DATAERR) from None
        raise BadArguments(f"Directory {folder} does not exist", EX_DATAERR) from None
    if not stat.S_ISDIR(mode):
        raise BadArguments(f"Parent directory of file {file} is not a directory", EX_DATAERR)
    if Path(file).is_dir():
        raise BadArguments(f"Path {file} is a directory", EX_DATAERR)


def _write(file: str, pieces: Iterable[str]) -> None:
    """Write a file as a whole, or leave what was there. Raises Refused with rabbitmqctl's texts."""
    path = Path(file)
    try:
        if path.exists() and not path.is_file():
            # A device or a pipe: nothing can take its place.
            with path.open("w", encoding="utf-8") as stream:
                stream.writelines(pieces)
        else:
            _replace(path, pieces)
    except OSError as error:
        told = {
            errno.ENOENT: f"Parent directory or file {file} does not exist",
            errno.ENOSPC: f"No space left on device hosting {file}",
            errno.EACCES: f"No permissions to write to file {file} or its parent directory",
        }
        raise Refused(told.get(error.errno or 0, f"Could not write to file {file}: {error.strerror}")) from None


def _replace(path: Path, pieces: Iterable[str]) -> None:
    """Put a new file in the place of one, or of none. Raises OSError."""
    path = path.resolve()
    new = path.with_name(f".{path.name[:200]}.{os.getpid()}")
    # Hashes of passwords are in it: others may not read it, unless they could read the one before.
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600
    try:
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as stream:  # noqa: PTH123 - of a number
            stream.writelines(pieces)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


# -- plans ------------------------------------------------------------------------------------------------------------


def _plan(call: "Call", head: render.Head, batches: Iterable[render.Rows]) -> Generator[str, None, int]:
    """Show a plan, and how much it is where people read it; return the exit code."""
    counts: dict[str, int] = {}
    seen: set[tuple[str, ...]] = set()

    def counted() -> Iterator[render.Rows]:
        for batch in batches:
            for action, *item in batch:
                # An item has a row for each member that differs.
                key = (action, *map(str, item[:3]))
                if key not in seen:
                    seen.add(key)
                    counts[action] = counts.get(action, 0) + 1
            yield batch

    yield from render.load(call.options.formatter).rows(head, counted())
    if call.options.talks:
        words = [("create", "to create"), ("update", "to update"), ("conflict", "in conflict"), ("skip", "skipped")]
        told = ", ".join(f"{counts[action]} {text}" for action, text in words if action in counts)
        todo = counts.keys() - {"skip"}
        line = told if todo else f"Nothing to do{f' ({told})' if told else ''}"
        yield f"{terminal.bold(line)}\n"
    if "conflict" in counts:
        return exit_codes.DATAERR
    return exit_codes.CHANGES if counts.keys() & {"create", "update"} else exit_codes.OK

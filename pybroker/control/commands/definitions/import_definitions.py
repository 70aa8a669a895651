"""import_definitions: create or update all that a document defines, or nothing."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pybroker.control import json_lines
from pybroker.control.spec import EX_TEMPFAIL, Arg, Changed, Command, Node, Refused, progress_of

if TYPE_CHECKING:
    from collections.abc import Generator

    from pybroker.control.spec import Progress

# Beyond these, what is odd is only counted; all of it is in the log.
TOLD_MAX = 20


SkipUnsupportedArg = Annotated[
    bool,
    Arg(
        "skip unsupported queues, exchanges, policies and bindings, and list them",
        "--skip-unsupported",
    ),
]


class Args(NamedTuple):
    """The document and the virtual host."""

    file: Annotated[str | None, Arg("file to read; default: standard input", names="file")] = None
    format: Annotated[str, Arg("format of the file: json", "--format", "format")] = "json"
    skip_if_unchanged: Annotated[
        bool, Arg("do nothing if the last import had the same content and options", "--skip-if-unchanged")
    ] = False
    vhost: Annotated[
        str | None,
        Arg("import only entities of virtual hosts, into this existing virtual host", "-p --vhost", names="vhost"),
    ] = None
    skip_unsupported: SkipUnsupportedArg = False


def check(args: Args) -> None:
    """Refuse formats that cannot be read. Raises BadArguments."""
    json_lines.check_format(args.format)


def run(node: Node, args: Args) -> "Generator[Progress, None, Changed]":
    """Look at all of it, then import it; return what was done. Raises Refused: it cannot be, and nothing is changed."""
    # Differs from RabbitMQ: its command ends when the import begins.
    transfer = node.broker.transfer
    document = json_lines.read(node, args.vhost)
    skips = {"skip_if_unchanged": args.skip_if_unchanged, "skip_unsupported": args.skip_unsupported}
    work = transfer.imported(document, node.pause, **skips, cause=node.cause)
    outcome = yield from progress_of(work)
    if outcome.faults:
        raise Refused(outcome.fault_text, facts={"faults": list(outcome.faults)})
    for warning in outcome.warnings:
        node.broker.info("definitions.warning", f"import of definitions: {warning}")
    if outcome.stopped:
        raise Refused(f"The import was interrupted: {outcome.stopped}", EX_TEMPFAIL)
    warnings = [f"warning: {warning}" for warning in outcome.warnings]
    if len(warnings) > TOLD_MAX:
        warnings[TOLD_MAX:] = [f"warning: and {len(warnings) - TOLD_MAX} more; see the log"]
    facts = {action: outcome.counts.get(action, 0) for action in ("create", "update", "conflict", "skip")}
    message = "\n".join([outcome.text, *warnings])
    told = node.result(message, **facts, unchanged=outcome.unchanged, warnings=list(outcome.warnings))
    return Changed(outcome.commit_position, told)


def banner(args: Args) -> str:
    """Return rabbitmqctl's banner."""
    if args.file in (None, "-"):
        return "Importing definitions in JSON from standard input ..."
    return 'Importing definitions in JSON from a file at "{file}" ...'


COMMAND = Command(
    name="import_definitions",
    section="Definitions",
    summary="Imports definitions in RabbitMQ's JSON format. Creates or updates users, virtual hosts, "
    "permissions, policies and parameters; creates missing queues, exchanges and bindings. Changes "
    "nothing if any part of the file is invalid. Returns when all changes are on disk",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner=banner,
    check=check,
    takes_lines=True,
)

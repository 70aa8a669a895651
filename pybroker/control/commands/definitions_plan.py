"""definitions_plan: what importing a document would do; nothing is changed."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control import documents
from pybroker.control.spec import Arg, Column, Command, Node, Refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.core.transfer.plan import Change


class Args(NamedTuple):
    """Where from, and where to."""

    file: Annotated[str | None, Arg("file to read; standard input without one", names="file")] = None
    vhost: Annotated[
        str | None,
        Arg("take what is in virtual hosts alone, and into this one, which exists", "-p --vhost", names="vhost"),
    ] = None


class Row(NamedTuple):
    """One member of an item that would be another one; an item that would be made has one row without."""

    action: str
    section: str
    vhost: str
    name: str
    member: str
    now: Any
    wanted: Any


def run(node: Node, args: Args) -> "Iterator[Row]":
    """Yield what would be done. Raises Refused: nothing would be, since something in it cannot be."""
    document = documents.read(node, args.vhost)
    outcome = documents.finish(node.broker.transfer.planned(document, node.pause))
    if outcome.faults:
        raise Refused(outcome.fault_text, facts={"faults": list(outcome.faults)})
    for change in outcome.changes:
        yield from _rows(change)


def _rows(change: "Change") -> "Iterator[Row]":
    value = change.item.value
    vhost = value.get("vhost", "")
    key = [part for name, part in zip(_NAMED[change.item.section], change.item.key, strict=False) if name]
    name = " ".join(part or "''" for part in key)
    if not change.differences:
        yield Row(change.action, change.item.section, vhost, name, "", change.reason or None, None)
    for difference in change.differences:
        yield Row(change.action, change.item.section, vhost, name, difference.field, difference.now, difference.wanted)


# Which parts of an item's key are its name; the virtual host has its own column.
_NAMED = {
    "users": (True,),
    "vhosts": (True,),
    "permissions": (True, False),
    "topic_permissions": (True, False, True),
    "exchanges": (False, True),
    "global_parameters": (True,),
    "policies": (False, True),
    "parameters": (False, True, True),
    "queues": (False, True),
    "bindings": (False, True, True, True, True, True),
}

COMMAND = Command(
    name="definitions_plan",
    section="Definitions",
    summary="Displays what import_definitions would do with a file, and changes nothing: what it would create, what it "
    "would update from what to what, and what exists with other properties and would stay so. Ends with 0 if there is "
    "nothing to do, with 1 if there is, with 65 if something is in conflict or cannot be imported",
    args=Args,
    effect="read",
    run=run,
    columns=(
        Column("action", lambda row: row.action, "create; update; conflict: it stays as it is; skip: it is left out"),
        Column("section", lambda row: row.section, "section of the document"),
        Column("vhost", lambda row: row.vhost, "virtual host, for what is in one"),
        Column("name", lambda row: row.name, "what it is called; of a binding source, destination, key, arguments"),
        Column("member", lambda row: row.member, "what of it differs"),
        Column("now", lambda row: row.now, "as it is, or why it is left out"),
        Column("wanted", lambda row: row.wanted, "as the document has it; passwords are hidden"),
    ),
    banner="Comparing definitions with node {node} ...",
    takes_lines=True,
)

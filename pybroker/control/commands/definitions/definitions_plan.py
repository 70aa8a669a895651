"""definitions_plan: the changes that importing a document would make; nothing is changed."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control import json_lines
from pybroker.control.arguments.policies import PAUSE_S, SHARE_QUEUES
from pybroker.control.spec import Arg, Column, Command, Node, Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pybroker.core.transfer.plan import Change


# The two components that policies are parameters of.
USER, OPERATOR = "policy", "operator_policy"
# The member of a policy's row that says how many messages wait that would be dropped, or dead-lettered, at once.
DROPS = "messages dropped"


class Args(NamedTuple):
    """The document and the virtual host."""

    file: Annotated[str | None, Arg("file to read; default: standard input", names="file")] = None
    vhost: Annotated[
        str | None,
        Arg("import only entities of virtual hosts, into this existing virtual host", "-p --vhost", names="vhost"),
    ] = None
    skip_unsupported: Annotated[bool, Arg("as for import_definitions", "--skip-unsupported")] = False


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
    document = json_lines.read(node, args.vhost)
    outcome = json_lines.finish(
        node.broker.transfer.planned(document, node.pause, skip_unsupported=args.skip_unsupported)
    )
    if outcome.faults:
        raise Refused(outcome.fault_text, facts={"faults": list(outcome.faults)})
    drops = _drops(node, outcome.changes)
    for change in outcome.changes:
        yield from _rows(change)
        policy = _policy(change)
        if policy is not None and (messages := drops.get(policy[:3])):
            yield _row(change, DROPS, None, messages)


def _rows(change: "Change") -> "Iterator[Row]":
    if not change.differences:
        yield _row(change, "", change.reason or None, None)
    for difference in change.differences:
        yield _row(change, difference.field, difference.now, difference.wanted)


def _row(change: "Change", member: str, now: Any, wanted: Any) -> Row:
    key = [part for name, part in zip(_NAMED[change.item.section], change.item.key, strict=False) if name]
    name = " ".join(part or "''" for part in key)
    return Row(change.action, change.item.section, change.item.value.get("vhost", ""), name, member, now, wanted)


def _policy(change: "Change") -> tuple[str, str, str, Any] | None:
    """Return virtual host, component, name and value of a policy that would be made or changed."""
    value, section = change.item.value, change.item.section
    if change.action not in {"create", "update"}:
        return None
    if section == "policies":
        fields = ("pattern", "definition", "priority", "apply-to")
        return value["vhost"], USER, value["name"], {field: value[field] for field in fields}
    if section == "parameters" and value["component"] == OPERATOR:
        return value["vhost"], OPERATOR, value["name"], value["value"]
    return None


def _drops(node: Node, changes: "Iterable[Change]") -> dict[tuple[str, str, str], int]:
    """Return how many messages would go at once, by the policy that would be in force for their queues."""
    policies = [policy for policy in map(_policy, changes) if policy is not None]
    found: dict[tuple[str, str, str], int] = {}
    for vhost in {policy[0] for policy in policies} & node.broker.vhosts.keys():
        given = [policy[1:] for policy in policies if policy[0] == vhost]
        names = {(component, name) for component, name, _ in given}
        for done, drop in enumerate(node.broker.policies.planned(vhost, given)):
            if not done % SHARE_QUEUES:
                node.pause(PAUSE_S)
            if drop is None or not drop.messages:
                continue
            for component, policy in ((USER, drop.applied.user), (OPERATOR, drop.applied.operator)):
                if policy is not None and (component, policy.name) in names:
                    key = vhost, component, policy.name
                    found[key] = found.get(key, 0) + drop.messages
                    break
    return found


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
    summary="Displays what import_definitions would create and update, with old and new values, and which "
    "existing entities conflict; changes nothing. Exits with 0 if there is nothing to do, with 1 if "
    "there is, with 65 if there is a conflict or the file cannot be imported",
    args=Args,
    effect="read",
    access="administrator",
    run=run,
    columns=(
        Column(
            "action", lambda row: row.action, "create, update, conflict (stays unchanged) or skip (is not imported)"
        ),
        Column("section", lambda row: row.section, "section of the document"),
        Column("vhost", lambda row: row.vhost, "virtual host, if the entity is in one"),
        Column("name", lambda row: row.name, "name; of a binding source, destination, key, arguments"),
        Column("member", lambda row: row.member, "property that differs"),
        Column("now", lambda row: row.now, "current value, or why it is skipped"),
        Column("wanted", lambda row: row.wanted, "value in the document; passwords are hidden"),
    ),
    banner="Comparing definitions with node {node} ...",
    takes_lines=True,
)

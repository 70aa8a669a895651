"""Code that the commands for policies and parameters share: values to and from JSON, refusals, rows."""

import json
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control.arguments.lookup import find_vhost, missing
from pybroker.control.arguments.names import check_name
from pybroker.control.spec import EX_UNAVAILABLE, Arg, Changed, Column, Node, Progress, Refused, VHostArg
from pybroker.humanize import counted

if TYPE_CHECKING:
    from pybroker.core.policy.policy import Policy
    from pybroker.core.queue.queue import Queue
    from pybroker.core.routing.exchange import Exchange
    from pybroker.core.topology.vhost import VHost

NOT_SET = "Parameter does not exist"

# A change that reaches a hundred thousand queues takes some hundred turns.
PAUSE_S = 0.01
# Looked at in one turn.
SHARE_QUEUES = 512

PriorityArg = Annotated[
    int, Arg("priority; of several matching policies the one with the highest applies", "--priority")
]
ApplyToArg = Annotated[
    str,
    Arg(
        "kinds of entities: queues, classic_queues, quorum_queues, streams, exchanges or all",
        "--apply-to",
        "apply-to",
    ),
]


DryRunArg = Annotated[
    bool,
    Arg("change nothing; print how many queues it would apply to and which messages would be dropped", "--dry-run"),
]


class SetArgs(NamedTuple):
    """A policy."""

    name: Annotated[str, Arg("name of the policy")]
    pattern: Annotated[str, Arg("regular expression (RE2) to find in the names")]
    definition: Annotated[str, Arg("definition, a JSON object")]
    priority: PriorityArg = 0
    apply_to: ApplyToArg = "all"
    vhost: VHostArg = "/"
    dry_run: DryRunArg = False


def check_set(args: SetArgs) -> None:
    """Refuse a name that is too long. Raises BadArguments."""
    check_name("a policy", args.name)


class ClearArgs(NamedTuple):
    """A policy's name."""

    name: Annotated[str, Arg("name of the policy")]
    vhost: VHostArg = "/"
    dry_run: DryRunArg = False


class VHostArgs(NamedTuple):
    """The virtual host."""

    vhost: VHostArg = "/"


def read_json(node: Node, text: str) -> Any:
    """Return a value that was given as JSON. Raises Refused."""
    try:
        return node.broker.parameters.decode(text)
    except ValueError as error:
        raise Refused(str(error), EX_UNAVAILABLE) from None


def as_json(value: Any) -> str:
    """Return a value as RabbitMQ's listings have it: without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def would(banner: str) -> "Callable[[SetArgs | ClearArgs], str]":
    """Return a banner that says of a dry run that it would be: of "Setting policy" "Would set policy"."""
    does, rest = banner.split(" ", 1)
    would_do = {"Setting": "Would set", "Clearing": "Would clear"}[does]
    return lambda args: f"{would_do if args.dry_run else does} {rest}"


def set_policy(component: str, node: Node, args: SetArgs) -> Generator[Progress, None, Changed | dict[str, Any]]:
    """Set a policy, also for messages that wait; done when it is in force for all that it fits. Raises Refused."""
    vhost = find_vhost(node.broker, args.vhost)
    value = {
        "pattern": args.pattern,
        "definition": read_json(node, args.definition),
        "priority": args.priority,
        "apply-to": args.apply_to,
    }
    if args.dry_run:
        return (yield from _tried(node, vhost.name, component, args.name, value))
    changed = set_parameter(node, vhost.name, component, args.name, value)
    yield from _in_force(node, vhost.name)
    idle = node.broker.policies.without_effect(value["definition"])
    notes = [f"stored, but without effect here: {', '.join(idle)}"] * bool(idle)
    notes += _preceding(node, vhost, component, args.name)
    return changed._replace(value=node.result("", notes=notes) if notes else None)


def clear_policy(component: str, node: Node, args: ClearArgs) -> Generator[Progress, None, Changed | dict[str, Any]]:
    """Clear a policy; done when all that it fitted is under what is left. Raises Refused."""
    vhost = find_vhost(node.broker, args.vhost)
    if args.dry_run:
        if args.name not in node.broker.parameters.of(vhost.name, component):
            raise Refused(NOT_SET, EX_UNAVAILABLE, missing("parameter"))
        return (yield from _tried(node, vhost.name, component, args.name, None))
    changed = clear_parameter(node, vhost.name, component, args.name)
    yield from _in_force(node, vhost.name)
    return changed


def clear_parameter(node: Node, vhost_name: str, component: str, name: str) -> Changed:
    """Clear a runtime parameter. Raises Refused, also when it is not set."""
    return cleared(node.broker.parameters.clear(vhost_name, component, name, node.cause))


def cleared(commit_position: int | None) -> Changed:
    """Return what clearing a parameter has changed. Raises Refused for None: it is not set."""
    if commit_position is None:
        raise Refused(NOT_SET, EX_UNAVAILABLE, missing("parameter"))
    return Changed(commit_position)


def set_parameter(node: Node, vhost_name: str, component: str, name: str, value: Any) -> Changed:
    """Set a runtime parameter. Raises Refused."""
    try:
        return Changed(node.broker.parameters.set(vhost_name, component, name, value, node.cause))
    except ValueError as error:
        raise Refused(str(error), EX_UNAVAILABLE) from None


def _preceding(node: Node, vhost: "VHost", component: str, name: str) -> list[str]:
    """Return what decides instead of a policy, as sentences."""
    found = node.broker.policies.precedence(vhost.name, component, name)
    nouns: list[Exchange | Queue] = [*vhost.queues.values(), *vhost.exchanges.values()]
    for done, noun in enumerate(nouns, 1):
        found.add(noun)
        if not done % SHARE_QUEUES:
            node.pause(PAUSE_S)
    return found.sentences()


def _tried(
    node: Node, vhost_name: str, component: str, name: str, value: Any
) -> Generator[Progress, None, dict[str, Any]]:
    """Return what a change would do to the queues of a virtual host. Raises Refused: it cannot be."""
    if value is not None:
        try:
            node.broker.parameters.components[component].check(vhost_name, name, value)
        except ValueError as error:
            raise Refused(str(error), EX_UNAVAILABLE) from None
    total = len(node.broker.vhosts[vhost_name].queues)
    tally = node.broker.policies.tally()
    begins = ends = 0
    for done, drop in enumerate(node.broker.policies.planned(vhost_name, [(component, name, value)])):
        if drop is not None:
            applies = getattr(drop.applied, component) == name
            begins += applies
            ends += not applies
            tally.add(drop.queue.name, drop.messages, drop.others)
        if not done % SHARE_QUEUES:
            yield Progress(done, total)
            node.pause(PAUSE_S)
    to = [f"to {counted(begins, 'queue')}"] * bool(begins or value is not None)
    to += [f"no longer to {counted(ends, 'queue')}"] * bool(ends or value is None)
    drops = f"it would drop or dead-letter {tally}" if tally.messages else _no_drops(tally.others)
    text = f"Nothing was changed. The policy would apply {' and '.join(to)}; {drops}"
    return node.result(text, queues=begins, queues_left=ends, messages=tally.messages, dry_run=True)


def _no_drops(others: int) -> str:
    if not others:
        return "no message would be dropped"
    return f"up to {counted(others, 'message')} on disk may be older than the TTL, and would be dropped"


def _in_force(node: Node, vhost_name: str) -> Generator[Progress, None, None]:
    total = 0
    while left := node.broker.policies.left(vhost_name):
        total = max(total, left)
        yield Progress(total - left, total)
        node.pause(PAUSE_S)


def list_policies(component: str, node: Node, args: VHostArgs) -> "list[Policy]":
    """Return a virtual host's policies, those that count before others last, as RabbitMQ. Raises Refused."""
    return list(reversed(node.broker.policies.of(find_vhost(node.broker, args.vhost).name, component)))


COLUMNS = (
    Column("vhost", lambda p: p.vhost, "virtual host"),
    Column("name", lambda p: p.name, "name"),
    Column("pattern", lambda p: p.pattern.text, "regular expression to find in the names"),
    Column("apply-to", lambda p: p.apply_to, "what it applies to"),
    Column("definition", lambda p: as_json(p.definition), "what it says, as JSON"),
    Column("priority", lambda p: p.priority, "priority; of several matching policies the one with the highest applies"),
)

"""preview_policy: queues and exchanges that a policy would fit, and messages that it would drop; nothing is changed."""

from collections.abc import Generator
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.arguments.policies import PAUSE_S, SHARE_QUEUES, read_json
from pybroker.control.spec import EX_DATAERR, Arg, Command, Node, Progress, Refused, VHostArg
from pybroker.core.policy.policy import USER, Policy

if TYPE_CHECKING:
    from pybroker.core.topology.vhost import VHost

# Of objects that are named.
NAMED_MAX: Final = 100


class Args(NamedTuple):
    """A policy that might be set."""

    name: Annotated[str, Arg("name of the policy")]
    vhost: VHostArg
    pattern: Annotated[str, Arg("regular expression (RE2) to find in the names", "--pattern")]
    definition: Annotated[str, Arg("definition, a JSON object", "--definition")]
    priority: Annotated[int, Arg("priority", "--priority")] = 0
    apply_to: Annotated[str, Arg("kinds of objects", "--apply-to")] = "all"


def run(node: Node, args: Args) -> Generator[Progress, None, dict[str, Any]]:
    """Return how many queues and exchanges it fits, the first of them, and what would be dropped. Raises Refused."""
    vhost = find_vhost(node.broker, args.vhost)
    value = {
        "pattern": args.pattern,
        "definition": read_json(node, args.definition),
        "priority": args.priority,
        "apply-to": args.apply_to,
    }
    try:
        node.broker.parameters.components[USER].check(vhost.name, args.name, value)
    except ValueError as error:
        raise Refused(str(error), EX_DATAERR) from None
    policy = Policy.of(vhost.name, args.name, value)
    counts = {"queue": 0, "exchange": 0}
    matched: list[dict[str, str]] = []
    for done, (kind, sort, noun) in enumerate(_nouns(vhost), 1):
        if policy.matches(sort, noun.name):
            counts[kind] += 1
            if len(matched) < NAMED_MAX:
                matched.append({"type": kind, "name": noun.name, "policy": noun.applied.policy})
        if not done % SHARE_QUEUES:
            yield Progress(done, done)
            node.pause(PAUSE_S)
    dropped = yield from _dropped(node, vhost.name, args.name, value)
    return {
        "queues": counts["queue"],
        "exchanges": counts["exchange"],
        "matched": matched,
        "messages_dropped": dropped,
    }


def _nouns(vhost: "VHost") -> list[tuple[str, str, Any]]:
    queues = [("queue", queue.type, queue) for queue in vhost.queues.values()]
    return queues + [("exchange", "exchange", exchange) for exchange in vhost.exchanges.values() if exchange.name]


def _dropped(node: Node, vhost_name: str, name: str, value: Any) -> Generator[Progress, None, int]:
    messages = 0
    for done, drop in enumerate(node.broker.policies.planned(vhost_name, [(USER, name, value)]), 1):
        if drop is not None and drop.applied.policy == name:
            messages += drop.messages
        if not done % SHARE_QUEUES:
            yield Progress(done, done)
            node.pause(PAUSE_S)
    return messages


COMMAND = Command(
    name="preview_policy",
    section="Policies",
    summary="Tells a user of pybroker-web what a policy would fit",
    args=Args,
    effect="read",
    access="policymaker",
    run=run,
)

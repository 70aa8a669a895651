"""The alarms in effect, as commands tell of them and health checks refuse for them."""

from typing import TYPE_CHECKING, Any

from pybroker.control.spec import EX_UNAVAILABLE, Refused
from pybroker.humanize import lasting, seconds, size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.broker import Broker
    from pybroker.core.resources.alarm import Alarm


def documents(broker: "Broker") -> list[dict[str, Any]]:
    """Return what there is to say of each alarm: `since` in ms since 1970, and for how many seconds that is."""
    return [_document(broker, alarm) for alarm in broker.alarms]


def rabbitmq_documents(broker: "Broker") -> list[dict[str, str]]:
    """Return each alarm as the JSON of RabbitMQ's `status` has it."""
    return [{"type": "resource_limit", "resource": one.resource, "node": one.node} for one in broker.alarms]


def _document(broker: "Broker", alarm: "Alarm") -> dict[str, Any]:
    clock = broker.clock
    ms = clock.now_ms - alarm.since_ms
    return {
        "resource": alarm.resource,
        "node": alarm.node,
        "local": alarm.node == broker.settings.node_name,
        "why": alarm.why,
        "since": clock.timestamp_ms - ms,
        "seconds": seconds(ms),
        "message": f"{alarm.sentence} (for {lasting(ms)})",
    }


def notices(broker: "Broker") -> list[str]:
    """Return the notices for an operator besides the alarms: findings, and an alarm that cannot go off."""
    found = list(broker.notices)
    if text := told_of_no_limit(broker):
        found.append(text)
    return found


def told_of_no_limit(broker: "Broker") -> str:
    """Return that the memory alarm cannot go off, if it cannot; else nothing."""
    marks = broker.settings.watermarks
    if not marks.never_short:
        return ""
    times = f"{marks.memory_relative} times the available memory ({size(marks.total.octets)}, {marks.total.source})"
    again = "'pybrokerctl set_vm_memory_high_watermark 0.4' enables it"
    return f"The memory alarm is disabled: the limit is {times}; {again}"


def title(alarm: "Alarm") -> str:
    """Return whose alarm of what it is, without the reason."""
    return alarm.sentence.removesuffix(f": {alarm.why}")


def by_place(broker: "Broker", found: "Iterable[dict[str, Any]]") -> dict[str, Any]:
    """Return RabbitMQ's keys of a node that has some: a sentence for each alarm of this node, and of others."""
    sentences = {(alarm.resource, alarm.node): alarm.sentence for alarm in broker.alarms}
    told = [(one["local"], sentences[one["resource"], one["node"]]) for one in found]
    return {"local": [text for here, text in told if here], "global": [text for here, text in told if not here]}


def check(broker: "Broker", *, local: bool = False) -> None:
    """Raise Refused while there is any alarm, of all nodes or of this one."""
    found = [one for one in documents(broker) if one["local"] or not local]
    if found:
        places = by_place(broker, found)
        facts = {**({"local": places["local"]} if local else places), "alarms": found}
        raise Refused("\n".join(one["message"] for one in found), EX_UNAVAILABLE, facts)


def told_of_blocking(broker: "Broker", resource: str) -> str:
    """Return what is added to an answer about a limit while the resource is short; nothing if it is not."""
    if resource not in broker.alarms:
        return ""
    why = next(alarm.why for alarm in broker.alarms if alarm.resource == resource)
    return f"\nThe {resource} alarm is set: {why}. Publishers are blocked; 'pybrokerctl why_blocked' lists them."

"""Events of a message trace in sentences for operators. The events are core/message_trace's; they stay as they are."""

from typing import Any, Final

from pybroker.humanize import counted, lasting

Event = dict[str, Any]

_WAITING: Final = {
    "no_consumer": "the queue has no consumer",
    "paused": "the queue or its consumers are paused",
    "prefetch": "its consumers are at their prefetch limit",
    "not_read": "its consumers do not read what the broker sends",
    "channel_flow": "its consumers have stopped deliveries with channel.flow",
    "replies": "its consumers' channels wait for replies that come before",
    "returns": "other messages are coming back to the queue",
    "behind": "other messages are before it",
}
_STATES: Final = {
    "ready": "ready in queue '{queue}'",
    "unacknowledged": "unacknowledged in queue '{queue}'",
    "delayed": "waiting until it is due",
    "dying": "about to leave queue '{queue}' for its dead letter exchange",
    "refused": "refused by queue '{queue}'",
    "transaction": "in a transaction that is open",
    "storing": "not on disk yet",
}
_ENDS: Final = {
    "count": "all messages asked for have settled",
    "duration": "time is up",
    "vhost_deleted": "the virtual host was deleted",
    "stopped": "stopped",
    "bug": "an internal error ended the trace; see the log",
}


def sentence(event: Event) -> str:
    """Return what happened, without a full stop."""
    text: str = _SENTENCES[event["event"]](event)
    return text


def _published(event: Event) -> str:
    how = ["persistent" if event["persistent"] else "transient", counted(event["body_bytes"], "octet")]
    how += ["mandatory"] * event["mandatory"] + ["in a transaction"] * event["transaction"]
    how += [f"{name}={event[name]}" for name in ("message_id", "correlation_id", "expiration") if name in event]
    return f"published to {_target(event)} by {_who(event)}: {', '.join(how)}"


def _found(event: Event) -> str:
    where = f"queue '{event['queue']}'" if event["queue"] else "a delayed exchange"
    told = f"found in {where}; it was published to {_target(event)} before this trace could see it"
    return told + (f", delivered {counted(event['deliveries'], 'time')} before" if event["deliveries"] else "")


def _routed(event: Event) -> str:
    if "more" in event:
        return f"routed to {counted(event['more'], 'more queue')}"
    path = event["path"]
    way = ", then ".join(map(_step, path)) if path else "a binding that is gone"
    where = "to be kept on disk" if event["durable"] else "kept in memory only"
    return f"routed to queue '{event['queue']}' by {way}; {where}"


def _step(step: dict[str, Any]) -> str:
    source = _exchange(step["exchange"])
    to = f" to exchange '{step['to']}'" if step["kind"] == "exchange" else ""
    match step["by"]:
        case "default":
            return "the default exchange"
        case "alternate":
            return f"the alternate exchange '{step['to']}' of {source}"
        case "unknown":
            return f"one of very many bindings of {source}{to}"
    more = f" and arguments {step['arguments']}" if step["arguments"] else ""
    return f"binding '{step['key']}'{more} of {source}{to}"


def _unroutable(event: Event) -> str:
    where = _exchange(event["exchange"])
    fate = "returned to its publisher" if event["returned"] else "dropped"
    return f"unroutable: {where}: {event['why']}; {fate}"


def _refused(event: Event) -> str:
    limits = [
        f"max-length {event['max_length']:,}" if event["max_length"] is not None else "",
        f"max-length-bytes {event['max_length_bytes']:,}" if event["max_length_bytes"] is not None else "",
    ]
    return (
        f"refused by queue '{event['queue']}': it is full ({' and '.join(filter(None, limits))}, overflow "
        f"{event['overflow']}); a publisher with confirms gets basic.nack"
    )


def _delayed(event: Event) -> str:
    return f"delayed in exchange '{event['exchange']}' for {lasting(event['due_in_ms'])}"


def _delivered(event: Event) -> str:
    to = f"consumer '{event['consumer_tag']}'" if event["consumer_tag"] is not None else "basic.get"
    again = ", redelivered" if event["redelivered"] else ""
    # After a kill none of its deliveries may be known.
    again += f" (delivery {event['deliveries'] + 1})" if event["deliveries"] else ""
    done = "; it needs no acknowledgement" if event["auto_ack"] else ""
    return f"delivered from queue '{event['queue']}' to {to} of {_who(event)}{again}{done}"


def _requeued(event: Event) -> str:
    by = f" by {_who(event)}" if "user" in event else ""
    return f"returned to queue '{event['queue']}'" + (f": {event['why']} ({_who(event)})" if "why" in event else by)


def _leaves(why: str) -> Any:
    def text(event: Event) -> str:
        by = f" by {_who(event)}" if "user" in event else ""
        letters = event.get("dead_letter_exchange")
        fate = "dropped: the queue has no dead letter exchange"
        if letters is not None:
            fate = f"as a dead letter it goes to {_exchange(letters)}"
        return f"{why}{by} in queue '{event['queue']}'; {fate}"

    return text


def _gone(why: str) -> Any:
    return lambda event: why.format(**event)


def _settled(event: Event) -> str:
    if not event["streams"]:
        return "settled: nothing is left of it in any queue"
    names = ", ".join(f"'{name}'" for name in event["streams"])
    return f"settled: it stays in {'stream' if len(event['streams']) == 1 else 'streams'} {names}, and in no queue"


def _dead_lettered(event: Event) -> str:
    return f"dead-lettered from queue '{event['queue']}' ({event['reason']}) to {_target(event)}"


def _dead_letter_dropped(event: Event) -> str:
    exchange = event["exchange"]
    where = f"{_exchange(exchange)}: " if exchange is not None else ""
    return f"dropped: as a dead letter of queue '{event['queue']}' it has no way on: {where}{event['why']}"


def _moved(event: Event) -> str:
    names = ", ".join(f"'{name}'" for name in event["to"])
    to = _target(event) if event["routed"] else f"queue {names}; it keeps {_target(event)}"
    return f"moved by an operator from queue '{event['queue']}' to {to}"


def _waiting(event: Event) -> str:
    why = event["why"]
    if why == "dead_letter":
        return f"stays in queue '{event['queue']}' as a dead letter: {event['text']}"
    if why == "unacknowledged":
        return f"unacknowledged for {lasting(event['for_ms'])} with {_who(event)}"
    figures = f"{counted(event['consumers'], 'consumer')}, {event['messages_ready']:,} ready"
    if "messages_unacknowledged" in event:
        figures += f", {event['messages_unacknowledged']:,} unacknowledged"
    return (
        f"waits in queue '{event['queue']}' for {lasting(event['for_ms'])}: {_WAITING[why]}{_order(event)} ({figures})"
    )


def _unsettled(event: Event) -> str:
    text = "when the trace ended: " + _STATES[event["state"]].format(**event)
    if "for_ms" in event:
        text += f" for {lasting(event['for_ms'])}"
    if event["state"] == "unacknowledged":
        return f"{text} with {_who(event)}"
    return text + (f": {_WAITING[event['why']]}{_order(event)}" if event.get("why") in _WAITING else "")


def _ended(event: Event) -> str:
    text = f"end: {_ENDS.get(event['why'], event['why'])}; {counted(event['messages'], 'message')} followed"
    return text + (f", {event['unsettled']:,} not settled" if event["unsettled"] else "")


def _who(event: Event) -> str:
    if "user" not in event:
        return "a client that is gone"
    if not event["channel"]:
        return f"an operator, {event['connection'] or event['user']}"
    called = f" ({event['client_name']})" if event.get("client_name") else ""
    return f"user '{event['user']}' on {event['connection']}{called}, channel {event['channel']}"


def _target(event: Event) -> str:
    return f"{_exchange(event['exchange'])} with key '{event['routing_key']}'"


def _exchange(name: str) -> str:
    return f"exchange '{name}'" if name else "the default exchange"


def _withheld(event: Event) -> str:
    return (
        f"not published yet: a publish to {_target(event)} by {_who(event)} waits, because queue '{event['queue']}' is "
        f"paused{_order(event)}"
    )


def _connection_withheld(event: Event) -> str:
    whose = f"user '{event['user']}' on {event['connection']}"
    return f"a publish by {whose} waits since before this trace: queue '{event['queue']}' is paused{_order(event)}"


def _pause_refused(event: Event) -> str:
    return (
        f"refused by queue '{event['queue']}': it is paused{_order(event)}; a publisher with confirms gets basic.nack"
    )


def _order(event: Event) -> str:
    return f" by {event['paused_by']}: {event['paused_why']}" if "paused_by" in event else ""


_SENTENCES: Final[dict[str, Any]] = {
    "published": _published,
    "found": _found,
    "routed": _routed,
    "unroutable": _unroutable,
    "refused": _refused,
    "withheld": _withheld,
    "connection_withheld": _connection_withheld,
    "pause_refused": _pause_refused,
    "stored": _gone("now on disk (commit position {position})"),
    "not_stored": _gone("not on disk: {why}; a publisher with confirms gets basic.nack"),
    "rolled_back": _gone("not published: the transaction was rolled back, or its queues are gone"),
    "not_taken": _gone("not taken: it was immediate, and no consumer could have it at once"),
    "replied": _gone("handed to the client that waits for this reply (direct reply-to)"),
    "delayed": _delayed,
    "due": _gone("due: leaves exchange '{exchange}'"),
    "cancelled": _gone("dropped: an operator cancelled it before it was due"),
    "delivered": _delivered,
    "acknowledged": lambda event: f"acknowledged in queue '{event['queue']}' by {_who(event)}",
    "requeued": _requeued,
    "retry_delayed": lambda event: (
        f"waits in queue '{event['queue']}' for its retry: {lasting(event['due_in_ms'])} after "
        f"{counted(event['deliveries'], 'attempt')}"
    ),
    "retry_due": _gone("due for its retry: ready in queue '{queue}' again"),
    "rejected": _leaves("rejected"),
    "expired": _leaves("expired"),
    "maxlen": _leaves("over the length limit"),
    "delivery_limit": _leaves("delivered too often (delivery limit)"),
    "dead_lettered": _dead_lettered,
    "dead_letter_dropped": _dead_letter_dropped,
    "moved": _moved,
    "purged": _gone("dropped: queue '{queue}' was purged"),
    "deleted": _gone("gone with what held it, which was deleted: '{queue}'"),
    "unreadable": _gone("lost: it could not be read back from disk for queue '{queue}'"),
    "waiting": _waiting,
    "not_followed": _gone("not followed in queue '{queue}': the trace has too many copies already"),
    "settled": _settled,
    "unsettled": _unsettled,
    "ended": _ended,
    "events_dropped": _gone("{count} events were dropped, because they were not read fast enough"),
}

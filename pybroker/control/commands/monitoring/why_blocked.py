"""why_blocked: connections that are held back, by what, since when, by how much, and what to type."""

from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, cast

from pybroker.control import alarms
from pybroker.control.arguments.lookup import find_connections
from pybroker.control.explain import alarm as explain_alarm, flow as explain_flow
from pybroker.control.explain.reason import Reason
from pybroker.control.spec import Arg, Command, Node
from pybroker.humanize import counted, lasting, seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pybroker.amqp.session import AmqpSession

# Connections that wait come before the ones that would have to.
ORDER: Final = {"blocked": 0, "flow": 1, "blocking": 2}
# Shown one by one, in this order: 5,000 take the node 0.14 s to put into words.
CONNECTIONS_MAX: Final = 500
# Between two pauses: some milliseconds.
SESSIONS_PER_SLICE: Final = 100
BY: Final = {"journal": "the journal", "peer": "its own client, which does not read replies"}


class Args(NamedTuple):
    """All connections, or one."""

    connection: Annotated[
        str | None,
        Arg(
            "id of the connection, its name (the addresses), or its connection_name; default: all",
            "",
            "connection",
            names="connection",
        ),
    ] = None


def run(node: Node, args: Args) -> dict[str, Any]:
    """Return connections that are held back, with each cause, and alarms; else the last connection. Raises Refused."""
    broker = node.broker
    sessions = cast("list[AmqpSession]", list(broker.sessions.values()))
    if args.connection is not None:
        sessions = find_connections(broker, args.connection)
    explained = [
        {**document, "title": alarms.title(alarm), "reason": explain_alarm.of_alarm(broker, alarm, node.pause)}
        for alarm, document in zip(broker.alarms, alarms.documents(broker), strict=True)
        if alarm.resource != broker.alarms.files
    ]
    found = sorted(_held(sessions, explained, node.pause), key=lambda one: ORDER[one["state"]])
    last = None if found else _last(sessions)
    return node.result(
        _headline(found, last, args, alarmed=bool(explained)),
        connections=found[:CONNECTIONS_MAX],
        left_out=max(0, len(found) - CONNECTIONS_MAX),
        alarms=[_plain(one) for one in explained],
        notices=alarms.notices(broker),
        last=last,
    )


def _held(
    sessions: "list[AmqpSession]", explained: list[dict[str, Any]], pause: "Callable[[float], object]"
) -> "Iterator[dict[str, Any]]":
    """Yield those that are held back; others go on between some of them."""
    for count, session in enumerate(sessions, 1):
        # An alarm that came during a pause has not been explained: it is shown the next time.
        if session.shown_state in ORDER and (document := _connection(session, explained))["causes"]:
            yield document
        if not count % SESSIONS_PER_SLICE:
            pause(explain_alarm.PAUSE_S)


def _connection(session: "AmqpSession", explained: list[dict[str, Any]]) -> dict[str, Any]:
    now_ms, throttle = session.broker.clock.now_ms, session.throttle
    return {
        **_who(session),
        "state": session.shown_state,
        "blocked_time": throttle.blocked_ms(now_ms),
        "flow_time": throttle.flow_ms(now_ms),
        "flow_count": throttle.flow_count,
        "causes": [*_by_alarms(session, explained), *_by_others(session)],
    }


def _who(session: "AmqpSession") -> dict[str, Any]:
    return {
        "pid": session.pid,
        "name": session.name,
        "user_provided_name": session.client_name,
        "user": session.user.name if session.user else "",
        "vhost": session.vhost.name if session.vhost else "",
    }


def _by_alarms(session: "AmqpSession", explained: list[dict[str, Any]]) -> "Iterator[dict[str, Any]]":
    """Yield a cause for each alarm: since when it holds this connection, or since when it would."""
    now_ms, throttle = session.broker.clock.now_ms, session.throttle
    for alarm in explained:
        ms = int(alarm["seconds"] * 1000)
        text = f"will be blocked by the {alarm['resource']} alarm as soon as it publishes"
        if throttle.blocked:
            ms = min(ms, now_ms - throttle.blocked_since_ms())
            text = f"has been blocked for {lasting(ms)} by the {alarm['resource']} alarm"
        yield _cause(session, alarm["reason"], ms, text, now=throttle.blocked)


def _by_others(session: "AmqpSession") -> "Iterator[dict[str, Any]]":
    """Yield any other causes; if there are none, the ones of a moment ago, because they change many times a second."""
    now_ms, throttle = session.broker.clock.now_ms, session.throttle
    flows = throttle.flows
    for cause, since_ms in flows.items():
        reason = explain_flow.of_session(session, cause)
        text = f"has been throttled for {lasting(now_ms - since_ms)} by {BY.get(reason.kind, reason.what)}"
        yield _cause(session, reason, now_ms - since_ms, text, now=True)
    if not flows and session.shown_state == "flow" and (last := throttle.last) is not None:
        ms, by_alarm, what = now_ms - throttle.last_at_ms, last.kind == "resource", throttle.last_cause
        reason = explain_alarm.of_past_alarm(what) if by_alarm else explain_flow.of_past(session, last)
        by = f"the {what} alarm" if by_alarm else BY.get(reason.kind, reason.what)
        yield _cause(
            session, reason, ms, f"was throttled {lasting(ms)} ago by {by}, and is being read again", now=False
        )


def _cause(session: "AmqpSession", reason: Reason, ms: int, text: str, *, now: bool) -> dict[str, Any]:
    return {
        "cause": reason.kind,
        "what": reason.what,
        "now": now,
        "since": session.broker.clock.timestamp_ms - ms,
        "seconds": seconds(ms),
        "octets": reason.octets,
        "octets_max": reason.octets_max,
        "why": reason.why,
        "advice": reason.advice,
        "message": text,
    }


def _plain(alarm: dict[str, Any]) -> dict[str, Any]:
    reason: Reason = alarm["reason"]
    return {
        **{key: one for key, one in alarm.items() if key != "reason"},
        "lasting": f"for {lasting(1000 * alarm['seconds'])}",
        "octets": reason.octets,
        "octets_max": reason.octets_max,
        "why": reason.why,
        "advice": reason.advice,
    }


def _last(sessions: "list[AmqpSession]") -> dict[str, Any] | None:
    """Return whose turn it was last to wait, of those that are still there; None if nobody ever did."""
    waited = [one for one in sessions if one.throttle.last_by != "none" and one.state not in {"header", "closed"}]
    if not waited:
        return None
    session = max(waited, key=lambda one: one.throttle.last_at_ms)
    throttle, now_ms = session.throttle, session.broker.clock.now_ms
    return {
        **_who(session),
        "state": session.shown_state,
        "last_blocked_by": throttle.last_by,
        "last_blocked_cause": throttle.last_cause,
        "last_blocked_age": throttle.last_age_s(now_ms),
        "blocked_time": throttle.blocked_ms(now_ms),
        "flow_time": throttle.flow_ms(now_ms),
    }


def _headline(found: list[dict[str, Any]], last: dict[str, Any] | None, args: Args, *, alarmed: bool) -> str:
    if found:
        return _counts(found)
    if args.connection is not None:
        text = f"{args.connection} is not blocked or throttled."
    elif alarmed:
        text = "No client is connected. Publishers will be blocked until the alarm clears."
    else:
        text = "No connection is blocked or throttled."
    if last is None:
        return f"{text} {'It never was' if args.connection is not None else 'No open connection ever was'}."
    ago = lasting(1000 * last["last_blocked_age"])
    whom = "The last cause was" if args.connection is not None else f"The last was {last['pid']} {last['name']}, by"
    times = ", ".join(
        f"{lasting(last[key])} by {what}"
        for key, what in (("blocked_time", "alarms"), ("flow_time", "flow control"))
        if last[key]
    )
    return f"{text} {whom} {last['last_blocked_cause']}, {ago} ago" + (f" (total: {times})." if times else ".")


def _counts(found: list[dict[str, Any]]) -> str:
    """Return how many are held back now, were a moment ago, and will be."""
    now = sum(any(cause["now"] for cause in one["causes"]) for one in found)
    later = sum(one["state"] == "blocking" and not any(cause["now"] for cause in one["causes"]) for one in found)
    parts = (
        (now, "is", "are", ""),
        (len(found) - now - later, "was", "were", " until a moment ago"),
        (later, "will be", "will be", " as soon as it publishes" if later == 1 else " as soon as they publish"),
    )
    told: list[str] = []
    for number, one, many, when in parts:
        if number:
            who = f"{number:,} more" if told else counted(number, "connection")
            told.append(f"{who} {one if number == 1 else many}{'' if told else ' blocked or throttled'}{when}")
    return f"{'; '.join(told)}."


COMMAND = Command(
    name="why_blocked",
    section="Monitoring",
    summary="Displays which connections are blocked or throttled, the cause, since when, and what to do",
    args=Args,
    effect="read",
    access="monitoring",
    run=run,
    banner="Asking node {node} for blocked and throttled connections ...",
    timeout_s=60,
)

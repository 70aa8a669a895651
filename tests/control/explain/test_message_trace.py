"""The sentences of a trace; the events are the core's."""

import pytest
from pamqp import commands

from pybroker.control.explain.message_trace import sentence
from tests.fakes import World

Basic, Exchange, Queue = commands.Basic, commands.Exchange, commands.Queue
WHO = {"user": "ann", "connection": "a:1 -> b:2", "client_name": "billing", "channel": 3}
NAMED = "user 'ann' on a:1 -> b:2 (billing), channel 3"


def step(source, kind, to, by, key="", **arguments):
    return {"exchange": source, "kind": kind, "to": to, "by": by, "key": key, "arguments": arguments}


@pytest.mark.parametrize(
    ("event", "facts", "text"),
    [
        (
            "published",
            {
                **WHO,
                "exchange": "x",
                "routing_key": "k",
                "persistent": True,
                "mandatory": True,
                "transaction": False,
                "body_bytes": 1234,
                "message_id": "m",
            },
            f"published to exchange 'x' with key 'k' by {NAMED}: persistent, 1,234 octets, mandatory, message_id=m",
        ),
        (
            "routed",
            {
                "queue": "q",
                "durable": True,
                "path": [
                    step("x", "exchange", "y", "alternate"),
                    step("y", "exchange", "z", "binding", "a.*"),
                    step("z", "queue", "q", "binding", "k", n=1),
                ],
            },
            (
                "routed to queue 'q' by the alternate exchange 'y' of exchange 'x', then binding 'a.*' of exchange 'y' "
                "to exchange 'z', then binding 'k' and arguments {'n': 1} of exchange 'z'; to be kept on disk"
            ),
        ),
        (
            "routed",
            {"queue": "q", "durable": False, "path": [step("", "queue", "q", "default", "q")]},
            "routed to queue 'q' by the default exchange; kept in memory only",
        ),
        (
            "routed",
            {"queue": "q", "durable": False, "path": [step("t", "queue", "q", "unknown")]},
            "routed to queue 'q' by one of very many bindings of exchange 't'; kept in memory only",
        ),
        ("routed", {"queue": "", "more": 2}, "routed to 2 more queues"),
        (
            "refused",
            {"queue": "q", "max_length": 5, "max_length_bytes": None, "overflow": "reject-publish"},
            (
                "refused by queue 'q': it is full (max-length 5, overflow reject-publish); a publisher with confirms "
                "gets basic.nack"
            ),
        ),
        (
            "moved",
            {"queue": "q", "exchange": "x", "routing_key": "k", "to": ["a", "b"], "routed": True},
            "moved by an operator from queue 'q' to exchange 'x' with key 'k'",
        ),
        (
            "moved",
            {"queue": "q", "exchange": "", "routing_key": "q", "to": ["a"], "routed": False},
            "moved by an operator from queue 'q' to queue 'a'; it keeps the default exchange with key 'q'",
        ),
        (
            "rejected",
            {**WHO, "queue": "q", "dead_letter_exchange": None},
            f"rejected by {NAMED} in queue 'q'; dropped: the queue has no dead letter exchange",
        ),
        (
            "expired",
            {"queue": "q", "dead_letter_exchange": "dlx"},
            "expired in queue 'q'; as a dead letter it goes to exchange 'dlx'",
        ),
        ("requeued", {"queue": "q"}, "returned to queue 'q'"),
        ("requeued", {**WHO, "queue": "q", "why": "it left"}, f"returned to queue 'q': it left ({NAMED})"),
        ("acknowledged", {"queue": "q"}, "acknowledged in queue 'q' by a client that is gone"),
        (
            "waiting",
            {
                "queue": "q",
                "why": "prefetch",
                "for_ms": 1_500,
                "consumers": 1,
                "messages_ready": 2,
                "messages_unacknowledged": 3,
            },
            (
                "waits in queue 'q' for 1.5 s: its consumers are at their prefetch limit (1 consumer, 2 ready, 3 "
                "unacknowledged)"
            ),
        ),
        (
            "expired",
            {"queue": "q", "dead_letter_exchange": ""},
            "expired in queue 'q'; as a dead letter it goes to the default exchange",
        ),
        (
            "delivered",
            {
                "user": "rmq-cli",
                "connection": "root (uid 0, pid 7)",
                "client_name": "",
                "channel": 0,
                "queue": "q",
                "consumer_tag": None,
                "redelivered": False,
                "deliveries": 0,
                "auto_ack": False,
            },
            "delivered from queue 'q' to basic.get of an operator, root (uid 0, pid 7)",
        ),
        (
            "withheld",
            {**WHO, "queue": "q", "exchange": "", "routing_key": "q", "paused_by": "root", "paused_why": "full"},
            (
                f"not published yet: a publish to the default exchange with key 'q' by {NAMED} waits, because "
                "queue 'q' is paused by root: full"
            ),
        ),
        (
            "connection_withheld",
            {"user": "ann", "connection": "a:1 -> b:2", "queue": "q", "paused_by": "root", "paused_why": "full"},
            "a publish by user 'ann' on a:1 -> b:2 waits since before this trace: queue 'q' is paused by root: full",
        ),
        (
            "pause_refused",
            {"queue": "q", "paused_by": "root", "paused_why": "full"},
            "refused by queue 'q': it is paused by root: full; a publisher with confirms gets basic.nack",
        ),
        (
            "unsettled",
            {"state": "ready", "queue": "q", "for_ms": 100, "why": "paused", "paused_by": "root", "paused_why": "full"},
            "when the trace ended: ready in queue 'q' for 0.1 s: the queue or its consumers are paused by root: full",
        ),
        ("settled", {"streams": []}, "settled: nothing is left of it in any queue"),
        ("settled", {"streams": ["s"]}, "settled: it stays in stream 's', and in no queue"),
        ("settled", {"streams": ["s", "t"]}, "settled: it stays in streams 's', 't', and in no queue"),
        ("unsettled", {"state": "transaction"}, "when the trace ended: in a transaction that is open"),
        (
            "unsettled",
            {"state": "ready", "queue": "q", "for_ms": 100, "why": "no_consumer"},
            "when the trace ended: ready in queue 'q' for 0.1 s: the queue has no consumer",
        ),
        (
            "ended",
            {"why": "duration", "messages": 2, "unsettled": 1},
            "end: time is up; 2 messages followed, 1 not settled",
        ),
        ("events_dropped", {"count": 7}, "7 events were dropped, because they were not read fast enough"),
    ],
)
def test_an_event_is_a_sentence(event, facts, text):
    assert sentence({"event": event, **facts}) == text


def test_names_with_braces_do_no_harm():
    assert sentence({"event": "purged", "queue": "{0}{why}"}) == "dropped: queue '{0}{why}' was purged"


@pytest.fixture
def run_of_life():
    """Trace messages through everything that a queue of this name can do; return all sentences."""

    def run(name):
        world = World()
        peer = world.connect()
        peer.call(Exchange.Declare(exchange="dlx", exchange_type="fanout"))
        peer.declare(name, {"x-dead-letter-exchange": "dlx", "x-max-length": 2, "x-delivery-limit": 1})
        trace = world.broker.traces.follow(world.vhost, 100, 60_000, name)
        for _ in range(4):
            peer.publish("", name, expiration="5000")
        peer.consume(name)
        for _ in range(2):
            peer.send(Basic.Nack(0, multiple=True, requeue=True))
        peer.publish("", name)
        world.advance(6_000)
        peer.call(Queue.Purge(queue=name)) if not peer.inbox[1] else peer.take()
        peer.disconnect()
        trace.stop("stopped")
        return [sentence(event) for event in trace.poll(10_000)]

    return run


def test_every_event_of_a_life_has_one(run_of_life):
    texts = run_of_life("q")
    assert len(texts) > 20
    assert all(text and "None" not in text for text in texts)

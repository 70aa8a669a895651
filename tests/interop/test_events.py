"""amq.rabbitmq.event against RabbitMQ 3.10.8: every event that a client and rabbitmqctl can bring about, with the names
and AMQP types of its headers (event_headers.json, told by a real one; see event_steps.py)."""

import contextlib
import io
import json
import os
import subprocess
from pathlib import Path

import pytest

from pybrokerctl.main import main
from tests.interop.event_steps import header_types, record

Kinds = dict[str, list[dict[str, str]]]

THEIRS: Kinds = json.loads(Path(__file__).with_name("event_headers.json").read_text())
# Deliberate differences (pybroker-amqp(7)): headers that only RabbitMQ has, and those that only pybroker has.
ONLY_THEIRS: Kinds = {
    # Told twice of one that goes with its queue.
    "consumer.deleted": [{"channel": "S", "consumer_tag": "S", "queue": "S", "vhost": "S"}],
    # exchange-delete-in-progress; and a global one that was cleared.
    "parameter.set": [
        {"component": "S", "name": "S", "user_who_performed_action": "S", "value": "t", "vhost": "S"},
        {"component": "S", "name": "S", "user_who_performed_action": "S"},
    ],
    "topic.permission.deleted": [{"user": "S", "user_who_performed_action": "S", "vhost": "S"}],
    "user.authentication.failure": [
        {
            **dict.fromkeys(("auth_mechanism", "connection_name", "connection_type", "host", "name", "peer_host"), "S"),
            "error": "A",
            "peer_port": "l",
            "protocol": "S",
            "ssl": "t",
        }
    ],
}
ONLY_OURS: Kinds = {
    "parameter.cleared": [{"component": "S", "name": "S", "user_who_performed_action": "S"}],
    "topic.permission.deleted": [{"exchange": "S", "user": "S", "user_who_performed_action": "S", "vhost": "S"}],
    "user.authentication.failure": [{**ONLY_THEIRS["user.authentication.failure"][0], "error": "S"}],
}


def without_time(kinds: Kinds) -> Kinds:
    """Return the headers without timestamp_in_ms, which all have."""
    assert all(kind["timestamp_in_ms"] == "l" for of_event in kinds.values() for kind in of_event)
    found = {
        event: [{key: letter for key, letter in kind.items() if key != "timestamp_in_ms"} for kind in of_event]
        for event, of_event in kinds.items()
    }
    return {event: sorted(of_event, key=json.dumps) for event, of_event in found.items()}


def only(these: Kinds, those: Kinds) -> Kinds:
    found = {event: [kind for kind in kinds if kind not in those.get(event, [])] for event, kinds in these.items()}
    return {event: kinds for event, kinds in found.items() if kinds}


@pytest.fixture(scope="module")
def told(broker):
    def ctl(*words: str) -> str:
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            code = main(["--socket", str(broker.socket), *words])
        assert code == 0, output.getvalue()
        return output.getvalue()

    return record(broker.port, ctl, quiet_s=0.2)


def test_events_and_the_types_of_their_headers_are_rabbitmqs(told):
    ours, theirs = without_time(header_types(told)), without_time(THEIRS)
    assert {event: sorted(kinds, key=json.dumps) for event, kinds in ONLY_OURS.items()} == only(ours, theirs)
    assert {event: sorted(kinds, key=json.dumps) for event, kinds in ONLY_THEIRS.items()} == only(theirs, ours)


def test_every_event_is_persistent_and_has_the_time_twice(told):
    for _, properties in told:
        assert 2 == properties.delivery_mode
        assert properties.headers["timestamp_in_ms"] // 1000 == properties.timestamp


def test_who_did_it_is_named_as_in_rabbitmq(told):
    def who(event: str, name: str) -> str:
        found = [each.headers for kind, each in told if kind == event]
        return next(headers["user_who_performed_action"] for headers in found if headers["name"] == name)

    assert ("guest", "rmq-internal", "rmq-internal", "rmq-internal", "rmq-cli") == tuple(
        who("queue.deleted", name) for name in ("q", "auto", "own", "short", "left")
    )
    assert ("guest", "guest", "rmq-cli") == tuple(who("exchange.created", name) for name in ("x", "y", "amq.topic"))
    assert "rmq-cli" == who("user.created", "ann")


def test_addresses_and_tables_are_printed_as_erlang_prints_them(told):
    created = next(each.headers for _, each in told if each.headers.get("user_provided_name") == "the steps")
    assert ("{127,0,0,1}", "{127,0,0,1}", "{0,9,1}") == tuple(created[key] for key in ("host", "peer_host", "protocol"))
    assert '{<<"connection_name">>,longstr,<<"the steps">>}' in created["client_properties"]
    bound = next(each.headers for kind, each in told if kind == "binding.created" and each.headers["arguments"])
    assert ['{<<"n">>,signedint,1}', '{<<"s">>,longstr,<<"text">>}'] == bound["arguments"]


@pytest.mark.slow
@pytest.mark.skipif("RABBITMQ" not in os.environ, reason="RABBITMQ=PORT:RABBITMQCTL names no RabbitMQ with the plugin")
def test_a_real_rabbitmq_tells_what_is_written_down():
    port, _, rabbitmqctl = os.environ["RABBITMQ"].partition(":")

    def ctl(*words: str) -> str:
        return subprocess.run([rabbitmqctl, *words], check=True, capture_output=True, text=True).stdout

    assert THEIRS == header_types(record(int(port), ctl))

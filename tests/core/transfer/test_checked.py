"""An import that cannot succeed changes nothing; what RabbitMQ leaves out is left out and reported."""

import pytest

from tests.core.transfer.documents import imported, planned
from tests.fakes import World

QUEUE = {"vhost": "/", "name": "q"}
EXCHANGE = {"vhost": "/", "name": "x", "type": "direct"}
BINDING = {"vhost": "/", "source": "amq.headers", "destination": "q", "destination_type": "queue", "routing_key": ""}
POLICY = {"vhost": "/", "name": "p", "pattern": "^a", "definition": {"max-length": 5}}
USER = {"name": "u", "tags": []}


@pytest.mark.parametrize(
    ("section", "item", "fault"),
    [
        ("users", {**USER, "password_hash": "%"}, "user 'u': its password_hash is not Base64"),
        (
            "users",
            {**USER, "password_hash": "AAAA", "hashing_algorithm": "rot13"},
            "user 'u': unknown password hashing algorithm 'rot13'",
        ),
        (
            "users",
            {**USER, "limits": {"max-connections": "many"}},
            "user 'u': max-connections should be a number, actually was <<\"many\">>",
        ),
        (
            "vhosts",
            {"name": "v", "default_queue_type": "rope"},
            "vhost 'v': its default_queue_type 'rope' is none of classic, quorum, stream",
        ),
        (
            "permissions",
            {"user": "nobody", "vhost": "/", "configure": "", "write": "", "read": ""},
            "permissions of user 'nobody' in vhost '/': user 'nobody' does not exist",
        ),
        (
            "permissions",
            {"user": "guest", "vhost": "v", "configure": "", "write": "", "read": ""},
            "permissions of user 'guest' in vhost 'v': virtual host 'v' does not exist",
        ),
        (
            "permissions",
            {"user": "guest", "vhost": "/", "configure": "", "write": "(", "read": ""},
            ("permissions of user 'guest' in vhost '/': its write is not a supported regular expression: missing ): ("),
        ),
        (
            "topic_permissions",
            {"user": "guest", "vhost": "/", "exchange": "x", "write": "", "read": "["},
            (
                "topic permissions of user 'guest' at exchange 'x' in vhost '/': its read is not a supported "
                "regular expression: missing ]: ["
            ),
        ),
        ("exchanges", {**EXCHANGE, "type": "x-own"}, "exchange 'x' in vhost '/': unknown exchange type 'x-own'"),
        (
            "exchanges",
            {**EXCHANGE, "arguments": {"alternate-exchange": 5}},
            "invalid type 'long' for arg 'alternate-exchange' in exchange 'x' in vhost '/'",
        ),
        (
            "queues",
            {**QUEUE, "arguments": {"x-queue-type": "rope"}},
            "invalid arg 'x-queue-type' for queue 'q' in vhost '/': \"unsupported queue type 'rope'\"",
        ),
        (
            "queues",
            {**QUEUE, "arguments": {"x-queue-type": "stream", "x-stream-max-segment-size-bytes": 3_000_000_001}},
            "queue 'q' in vhost '/': Exceeded max value for x-stream-max-segment-size-bytes",
        ),
        (
            "queues",
            {**QUEUE, "type": "quorum", "durable": False},
            "invalid property 'non-durable' for queue 'q' in vhost '/'",
        ),
        (
            "queues",
            {**QUEUE, "arguments": {"x-own": None}},
            "queue 'q' in vhost '/': its arguments have a null, which RabbitMQ does not allow either",
        ),
        (
            "queues",
            {**QUEUE, "arguments": {"k" * 300: 1}},
            (
                "queue 'q' in vhost '/': its arguments cannot be encoded in AMQP: field "
                f"'{'k' * 40}...': its name has 300 octets, 255 are allowed"
            ),
        ),
        (
            "parameters",
            {"vhost": "/", "component": "vhost-limits", "name": "limits", "value": {"max-cows": 5}},
            (
                "parameter 'limits' of component 'vhost-limits' in vhost '/': Validation failed "
                'Unrecognised terms [{<<"max-cows">>,5}] in limits'
            ),
        ),
    ],
)
def test_what_cannot_be_made(section, item, fault):
    """F10: with RabbitMQ's texts where a client would get them."""
    assert (fault,) == planned(World(), {section: [item]}).faults


def test_policies_are_checked_by_who_sets_them():
    outcome = planned(World(), {"policies": [{**POLICY, "definition": {"max-length": "x"}}]})
    assert 1 == len(outcome.faults)
    assert outcome.faults[0].startswith("policy 'p' in vhost '/': Validation failed")


def test_what_is_in_the_document_is_there():
    """The order of a document's sections does not matter: RabbitMQ's own have bindings first."""
    outcome = planned(
        World(),
        {
            "bindings": [{**BINDING, "vhost": "v", "source": "x"}],
            "queues": [{**QUEUE, "vhost": "v"}],
            "exchanges": [{**EXCHANGE, "vhost": "v"}],
            "permissions": [{"user": "u", "vhost": "v", "configure": "", "write": "", "read": ""}],
            "vhosts": [{"name": "v"}],
            "users": [USER],
        },
    )
    assert ((), {"create": 6}) == (outcome.faults, outcome.counts)


@pytest.mark.parametrize(
    ("section", "item", "warning"),
    [
        (
            "queues",
            {**QUEUE, "name": "amq.gen-x"},
            "queue 'amq.gen-x' in vhost '/' is skipped: its name begins with 'amq.'",
        ),
        ("queues", {**QUEUE, "exclusive": True}, "queue 'q' in vhost '/' is skipped: it is exclusive"),
        (
            "exchanges",
            {**EXCHANGE, "name": "amq.own"},
            "exchange 'amq.own' in vhost '/' is skipped: its name begins with 'amq.'",
        ),
        ("exchanges", {**EXCHANGE, "name": ""}, "exchange '' in vhost '/' is skipped: it is the default exchange"),
        (
            "bindings",
            {**BINDING, "source": ""},
            (
                "binding from exchange '' to queue 'q' by routing key '' in vhost '/' is skipped: "
                "the default exchange has no bindings of its own"
            ),
        ),
        (
            "bindings",
            BINDING,
            (
                "binding from exchange 'amq.headers' to queue 'q' by routing key '' in vhost '/' is skipped: "
                "queue 'q' does not exist"
            ),
        ),
    ],
)
def test_what_is_left_out(section, item, warning):
    outcome = planned(World(), {section: [item]})
    assert ((), {"skip": 1}, (warning,)) == (outcome.faults, outcome.counts, outcome.warnings)


def test_bindings_of_new_exchanges_are_checked_by_their_type():
    content = {
        "exchanges": [{**EXCHANGE, "type": "headers"}],
        "queues": [QUEUE],
        "bindings": [{**BINDING, "source": "x", "arguments": {"x-match": "some"}}],
    }
    assert 1 == len(planned(World(), content).faults)


def test_more_queues_than_allowed():
    """F13: RabbitMQ's text; the limit of the document counts, where it has one."""
    world = World()
    world.broker.parameters.set("/", "vhost-limits", "limits", {"max-queues": 1})
    two = [QUEUE, {**QUEUE, "name": "r"}]
    assert (
        (
            'Adding 2 queue(s) to virtual host "/" would exceed the limit of 1 queue(s). '
            "This virtual host currently has 0 queue(s) defined. Import aborted!"
        ),
    ) == planned(world, {"queues": two}).faults
    assert () == planned(world, {"queues": two[:1]}).faults
    limits = {"vhost": "/", "component": "vhost-limits", "name": "limits", "value": {"max-queues": 2}}
    assert () == planned(world, {"queues": two, "parameters": [limits]}).faults


def test_a_password_in_clear_that_is_the_users_already_is_no_change():
    world = World()
    world.broker.users.add("u", "secret", (), "rabbit_password_hashing_sha256")
    assert {} == planned(world, {"users": [{**USER, "password": "secret"}]}).counts
    assert {"update": 1} == planned(world, {"users": [{**USER, "password": "other"}]}).counts


def test_a_binding_of_a_queue_that_is_left_out_is_left_out_too():
    """Nothing comes half-way: what was found possible can be made."""
    world = World()
    document = {"queues": [{**QUEUE, "exclusive": True}], "bindings": [BINDING]}
    outcome = imported(world, document)
    assert ("", {"skip": 2}) == (outcome.stopped, outcome.counts)
    assert any("queue 'q' does not exist" in warning for warning in outcome.warnings)

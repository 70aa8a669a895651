import pytest

from pybroker.core.transfer.document import read_item
from pybroker.core.transfer.plan import CONFLICT, CREATE, HIDDEN, UPDATE, Difference, compare

QUEUE = {"vhost": "/", "name": "q", "durable": True, "auto_delete": False, "arguments": {"x-max-length": 5}}
USER = {"name": "u", "password_hash": "AAAA", "hashing_algorithm": "rabbit_password_hashing_md5", "tags": ["a", "b"]}


def change(section, raw, there):
    return compare(read_item(section, raw), there)


def test_what_is_not_there_is_made():
    assert (CREATE, ()) == change("queues", QUEUE, None)[::2]


def test_what_is_equal_is_nothing():
    assert None is change("queues", QUEUE, QUEUE)
    assert None is change("users", {**USER, "tags": "b,a"}, {**USER, "limits": {"max-channels": 1}})
    assert None is change("vhosts", {"name": "v"}, {"description": "d", "tags": ["t"], "tracing": True})


def test_what_exists_stays_and_what_is_set_is_updated():
    """F8: an existing queue with other arguments stays as it is."""
    found = change("queues", {**QUEUE, "durable": False, "arguments": {}}, QUEUE)
    assert CONFLICT == found.action
    assert (Difference("durable", True, False), Difference("arguments", {"x-max-length": 5}, {})) == found.differences
    assert "the existing one stays unchanged" == found.reason
    found = change("vhosts", {"name": "v", "description": "new", "tags": ["t"]}, {"description": "old", "tags": ["t"]})
    assert (UPDATE, (Difference("description", "old", "new"),)) == (found.action, found.differences)


def test_passwords_are_hidden():
    found = change("users", {**USER, "password_hash": "BBBB"}, USER)
    assert (Difference("password_hash", HIDDEN, HIDDEN),) == found.differences


@pytest.mark.parametrize(("wanted", "now"), [(1, True), (1, 1.0), ([1], [True])])
def test_values_of_other_types_are_other_values(wanted, now):
    arguments = {"x-own": wanted}
    assert None is change("queues", {**QUEUE, "arguments": arguments}, {**QUEUE, "arguments": arguments})
    found = change("queues", {**QUEUE, "arguments": arguments}, {**QUEUE, "arguments": {"x-own": now}})
    assert CONFLICT == found.action


def test_to_name_the_type_that_it_has_anyway_is_no_difference():
    typed = {**QUEUE, "arguments": {**QUEUE["arguments"], "x-queue-type": "classic"}}
    assert None is change("queues", typed, QUEUE)
    assert None is change("queues", QUEUE, typed)


def test_an_object_that_rabbitmq_wrote_as_pairs_is_the_same():
    raw = {"name": "g", "value": [["a", 1], ["b", [1]]]}
    assert None is change("global_parameters", raw, {"name": "g", "value": {"b": [1], "a": 1}})
    assert UPDATE == change("global_parameters", raw, {"name": "g", "value": {"a": 1}}).action
    assert UPDATE == change("global_parameters", {"name": "g", "value": ["a"]}, {"name": "g", "value": {}}).action


def test_what_is_false_is_left_out():
    exchange = {"vhost": "/", "name": "x", "type": "direct", "durable": True, "auto_delete": False, "arguments": {}}
    assert None is change("exchanges", exchange, exchange)
    assert CONFLICT == change("exchanges", {**exchange, "internal": True}, exchange).action

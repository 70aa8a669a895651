from base64 import b64encode

import pytest
from pamqp import commands

from pybroker.control.commands.messages.publish import headers, pairs
from pybroker.control.spec import BadArguments, Refused
from pybroker.core.resources.alarm import MEMORY


def test_a_queue_gets_it_with_properties_and_headers(operator, peer):
    peer.declare("q", durable=True)
    answer = operator.ask(
        "publish", body="hello", queue="q", property=["content-type=text/plain"], header=["n:int=5", "s=x=y"], number=2
    )
    assert (answer["published"], answer["queues"], answer["on_disk"]) == (2, ["q"], True)
    assert answer["message"] == "2 messages published to queue 'q' and confirmed (on disk)"
    reply = peer.get("q")
    assert (reply.body, reply.properties.content_type, reply.properties.delivery_mode) == (b"hello", "text/plain", 2)
    assert reply.headers == {"n": 5, "s": "x=y"}


def test_an_exchange_routes_it(operator, peer):
    for name in ("a", "b"):
        peer.declare(name)
        peer.call(commands.Queue.Bind(queue=name, exchange="amq.fanout"))
    answer = operator.ask("publish", body="", exchange="amq.fanout")
    assert answer["message"].startswith("1 message published to 2 queues and confirmed (in memory only: ")


def test_a_body_may_come_in_lines(operator, peer):
    peer.declare("q")
    operator.lines = [b64encode(part).decode() for part in (b"\0\xff", b"end")]
    operator.ask("publish", file="-", queue="q")
    assert peer.get("q").body == b"\0\xffend"
    operator.lines = [5]
    with pytest.raises(Refused, match="base64"):
        operator.ask("publish", file="-", queue="q")


def test_what_nobody_takes_is_an_error(operator):
    with pytest.raises(Refused, match=r"unroutable: exchange 'amq.direct' routes nothing") as refused:
        operator.ask("publish", body="", exchange="amq.direct", routing_key="k")
    assert (refused.value.exit_code, refused.value.facts) == (65, {"published": 0})


def test_a_full_queue_is_an_error_that_tells_how_far_it_came(operator, peer):
    peer.declare("q", {"x-max-length": 2, "x-overflow": "reject-publish"})
    with pytest.raises(Refused, match=r"queue 'q' refused it.* 2 were published before") as refused:
        operator.ask("publish", body="", queue="q", number=3)
    assert (refused.value.exit_code, refused.value.facts) == (75, {"published": 2})


def test_under_an_alarm_nothing_is_accepted(operator, peer, world):
    peer.declare("q")
    world.broker.alarms.set(MEMORY, "too much")
    with pytest.raises(Refused, match="short of memory") as refused:
        operator.ask("publish", body="", queue="q")
    assert refused.value.exit_code == 75


def test_unknown_targets_are_refused(operator):
    for target in ({"queue": "q"}, {"exchange": "x"}):
        with pytest.raises(Refused, match="was not found"):
            operator.ask("publish", body="", **target)


@pytest.mark.parametrize(
    "given",
    [
        {"body": ""},
        {"body": "", "queue": "q", "exchange": "x"},
        {"body": "", "queue": "q", "routing_key": "k"},
        {"queue": "q"},
        {"queue": "q", "body": "", "file": "f"},
        {"queue": "q", "body": "", "number": 0},
        {"queue": "q", "body": "", "property": ["x"]},
        {"queue": "q", "body": "", "header": ["a:json={"]},
        {"queue": "q", "body": "", "header": ["a:json=[NaN]"]},
        {"queue": "q", "body": "", "header": ["a:json=-Infinity"]},
    ],
)
def test_wrong_arguments_are_refused(operator, given):
    with pytest.raises(BadArguments):
        operator.ask("publish", **given)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"header": ["n:int=x"]}, "header 'n': 'x' is not a valid int"),
        ({"property": ["priority=high"]}, "property 'priority' is a number"),
        ({"property": ["colour=red"]}, "unknown property 'colour'"),
        ({"property": ["user_id=bob"]}, "user_id property set to 'bob' but authenticated user was 'rmq-cli'"),
    ],
)
def test_a_message_that_cannot_be_is_an_error_of_its_data(operator, peer, given, text):
    peer.declare("q")
    with pytest.raises(Refused, match=text) as refused:
        operator.ask("publish", body="", queue="q", **given)
    assert refused.value.exit_code == 65
    assert operator.list("list_queues", "messages") == [0]


def test_a_type_stands_behind_the_last_colon():
    assert [("a", "int", "5"), ("a:b", "string", "1"), ("c:", "string", "")] == headers(("a:int=5", "a:b=1", "c:="))
    assert [("t", "json", {"a": [1]})] == headers(('t:json={"a":[1]}',))
    assert {"content_type": "a=b"} == pairs(("content-type=a=b",), "--property")


def test_a_misspelt_type_is_no_part_of_the_name():
    with pytest.raises(BadArguments, match=r"unknown type 'intt' in 'n:intt'\. Did you mean 'int'"):
        headers(("n:intt=5",))
    assert [("n:intt", "string", "5")] == headers(("n:intt:string=5",))


@pytest.mark.parametrize("mode", ["withhold", "refuse"])
def test_a_queue_that_is_paused_for_publishers_takes_nothing_of_an_operator_either(operator, peer, mode):
    peer.declare("q")
    operator.ask("pause_queue", queue="q", why="migration", mode=mode)
    with pytest.raises(Refused, match="queue 'q' refused it"):
        operator.ask("publish", body="", queue="q")
    assert operator.list("list_queues", "messages") == [0]
    for name in "abcde":
        peer.declare(name)
        peer.call(commands.Queue.Bind(0, name, "amq.fanout"))
    peer.call(commands.Queue.Bind(0, "q", "amq.fanout"))
    with pytest.raises(
        Refused, match=r"one of the 6 queues that it is routed to \('.', '.', '.', '.', '.', …\) refused it"
    ):
        operator.ask("publish", body="", exchange="amq.fanout")

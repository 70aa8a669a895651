import pytest
from pamqp import commands

from pybroker.control.commands.messages.redrive import LINES_MAX
from pybroker.control.spec import BadArguments, Refused

Basic, Exchange, Queue = commands.Basic, commands.Exchange, commands.Queue


class Shop:
    """Queues `orders` and `mail` that dead-letter to `dead`; both are bound to the fanout exchange `shop`."""

    def __init__(self, operator, peer):
        self.operator, self.peer = operator, peer
        peer.declare("dead")
        peer.call(Exchange.Declare(exchange="shop", exchange_type="fanout"))
        for name in ("orders", "mail"):
            self.declare(name)
            peer.call(Queue.Bind(queue=name, exchange="shop"))

    def declare(self, name, **more):
        arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead", **more}
        self.peer.declare(name, arguments=arguments)

    def reject(self, queue, count=1):
        for _ in range(count):
            got = self.peer.get(queue, no_ack=False)
            self.peer.send(Basic.Reject(delivery_tag=got.method.delivery_tag, requeue=False))
        self.operator.world.run()

    def expire(self, queue, count=1):
        """Publish messages that expire there."""
        for _ in range(count):
            self.peer.publish("", queue, b"late", expiration="1")
        self.operator.world.advance(10)

    @property
    def counts(self):
        return dict(self.operator.list("list_queues", "name", "messages_ready"))

    def redrive(self, **given):
        return self.operator.ask("redrive", queue="dead", **given)


@pytest.fixture
def shop(operator, peer):
    return Shop(operator, peer)


def test_a_dead_letter_goes_back_to_the_queue_it_died_in_and_to_no_other(shop, peer):
    peer.publish("shop", "key", b"one", message_id="m", headers={"a": 1})
    shop.reject("orders")
    assert {"orders": 0, "mail": 1, "dead": 1} == shop.counts
    assert "1 message moved" == shop.redrive()["message"]
    assert {"orders": 1, "mail": 1, "dead": 0} == shop.counts
    got = peer.get("orders", no_ack=False)
    assert ("shop", "key", b"one", "m") == (
        got.method.exchange,
        got.method.routing_key,
        got.body,
        got.properties.message_id,
    )
    assert ("orders", 1, 1) == (
        got.headers["x-death"][0]["queue"],
        got.headers["x-death"][0]["count"],
        got.headers["a"],
    )


def test_one_that_dies_again_counts_on(shop, peer):
    peer.publish("shop", "key")
    for count in (1, 2, 3):
        shop.reject("orders")
        got = peer.get("dead", no_ack=False)
        (death,) = got.headers["x-death"]
        assert (count, "rejected", "orders", "shop", ["key"]) == (
            death["count"],
            death["reason"],
            death["queue"],
            death["exchange"],
            death["routing-keys"],
        )
        peer.send(Basic.Reject(delivery_tag=got.method.delivery_tag, requeue=True))
        shop.redrive()
    assert {"orders": 1, "mail": 1, "dead": 0} == shop.counts


def test_by_reason_and_by_origin_and_in_a_dry_run(shop, peer):
    peer.publish("shop", "key")
    shop.reject("orders")
    shop.reject("mail")
    shop.expire("mail", 2)
    peer.publish("", "dead", b"no dead letter")
    found = shop.redrive(dry_run=True)
    assert {("orders", "rejected", 1), ("mail", "rejected", 1), ("mail", "expired", 2)} == {
        tuple(each.values()) for each in found["origins"]
    }
    assert (4, True) == (found["messages"], found["dry_run"])
    assert found["message"].startswith("4 messages would be moved\n2 messages: expired in queue 'mail'\n")
    assert 2 == shop.redrive(dry_run=True, reason="rejected")["messages"]
    assert 1 == shop.redrive(dry_run=True, number=1)["messages"]
    assert 5 == shop.counts["dead"]
    assert "2 messages moved" == shop.redrive(reason="expired")["message"]
    assert {"orders": 0, "mail": 2, "dead": 3} == shop.counts
    assert "1 message moved" == shop.redrive(origin="orders")["message"]
    assert "1 message moved" == shop.redrive(number=5)["message"]
    assert {"orders": 1, "mail": 3, "dead": 1} == shop.counts
    assert "0 messages moved: queue 'dead' has no dead letters" == shop.redrive()["message"]
    assert "0 messages would be moved: queue 'dead' has no dead letters" == shop.redrive(dry_run=True)["message"]


@pytest.mark.parametrize(("dry_run", "would"), [(False, ""), (True, "would be ")])
def test_where_none_is_wanted_it_tells_the_origins_that_there_are(shop, peer, dry_run, would):
    peer.publish("shop", "key")
    shop.reject("orders")
    peer.get("mail")
    shop.expire("mail", 2)
    there = "There are:\n2 messages: expired in queue 'mail'\n1 message: rejected in queue 'orders'"
    begin = f"0 messages {would}moved: none of the dead letters in queue 'dead' died"
    answer = shop.redrive(dry_run=dry_run, reason="maxlen")
    assert f"{begin} for the reason maxlen. {there}" == answer["message"]
    assert (0, 2) == (answer["messages"], len(answer["origins"]))
    # An origin that exists, and has none for this reason, is no mistake.
    answer = shop.redrive(dry_run=dry_run, origin="orders", reason="expired")
    assert f"{begin} in queue 'orders' for the reason expired. {there}" == answer["message"]
    with pytest.raises(Refused) as refused:
        shop.redrive(dry_run=dry_run, origin="oders")
    assert (65, f"{begin} in queue 'oders'. {there}") == (refused.value.exit_code, refused.value.text)
    assert {"messages": 0, "dry_run": dry_run}.items() <= refused.value.facts.items()
    assert 3 == shop.counts["dead"]


def test_many_origins_are_told_by_number(shop, peer):
    for number in range(LINES_MAX + 2):
        shop.declare(f"q{number}")
        peer.publish("", f"q{number}")
        shop.reject(f"q{number}")
    lines = shop.redrive(dry_run=True)["message"].splitlines()
    assert (LINES_MAX + 2, "and 2 other origins") == (len(lines), lines[-1])


def test_one_that_waited_elsewhere_goes_where_the_operator_says(shop, peer):
    peer.declare("parked")
    shop.declare("wait", **{"x-dead-letter-routing-key": "dead", "x-message-ttl": 5})
    peer.declare("work", arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "wait"})
    peer.publish("", "work")
    shop.reject("work")
    shop.operator.world.advance(10)
    assert (0, 1) == (shop.counts["wait"], shop.counts["dead"])
    assert [{"queue": "wait", "reason": "expired", "messages": 1}] == shop.redrive(dry_run=True)["origins"]
    assert 0 == shop.redrive(dry_run=True, reason="rejected")["messages"]
    assert 0 == shop.redrive(dry_run=True, origin="work", reason="expired")["messages"]
    assert "1 message moved" == shop.redrive(origin="work")["message"]
    assert 1 == shop.counts["work"]


def test_a_queue_that_is_gone_ends_it_unless_the_exchange_is_to_decide(shop, peer):
    peer.publish("shop", "key")
    shop.reject("orders")
    peer.call(Queue.Delete(queue="orders"))
    with pytest.raises(Refused) as refused:
        shop.redrive()
    text = "queue 'orders' in vhost '/', in which messages died, does not exist any more"
    assert (65, text) == (refused.value.exit_code, refused.value.text)
    assert 1 == shop.counts["dead"]
    with pytest.raises(Refused) as refused:
        shop.redrive(dry_run=True)
    assert (65, f"{text}\n1 message: rejected in queue 'orders'") == (refused.value.exit_code, refused.value.text)
    assert "1 message would be moved" in shop.redrive(dry_run=True, through_exchange=True)["message"]
    assert "1 message moved" == shop.redrive(through_exchange=True)["message"]
    assert {"mail": 2, "dead": 0} == shop.counts


def test_a_full_queue_ends_it(shop, peer):
    shop.declare("small", **{"x-max-length": 2, "x-overflow": "reject-publish"})
    for _ in range(4):
        peer.publish("", "small")
        shop.reject("small")
    with pytest.raises(Refused) as refused:
        shop.redrive(dry_run=True)
    text = "2 messages would be moved, then it would stop: queue 'small' in vhost '/' is full"
    assert (75, f"{text}\n4 messages: rejected in queue 'small'") == (refused.value.exit_code, refused.value.text)
    assert (2, [4]) == (refused.value.facts["messages"], [each["messages"] for each in refused.value.facts["origins"]])
    with pytest.raises(
        Refused, match="2 messages moved, then it stopped: queue 'small' in vhost '/' is full"
    ) as refused:
        shop.redrive()
    assert 75 == refused.value.exit_code
    assert {"small": 2, "dead": 2}.items() <= shop.counts.items()


@pytest.mark.parametrize("given", [{"reason": "bored"}, {"number": 0}, {"rate": "x"}])
def test_bad_arguments(shop, given):
    with pytest.raises(BadArguments):
        shop.redrive(**given)


def test_a_stream_keeps_its_dead_letters(operator, peer):
    peer.declare("s", {"x-queue-type": "stream"}, durable=True)
    with pytest.raises(Refused, match="queue 's' is a stream: its messages stay there, so none can be moved"):
        operator.ask("redrive", queue="s", dry_run=True)

"""Dead letters ([rmq dlx]): why a message left, where it goes, and what its headers tell."""

import pytest

from tests.fakes import Basic, Exchange, FakePeer, Queue, Tx

FIRST_LAST = ("first", "last")


def declared(peer: FakePeer, queue: str = "q", **arguments) -> None:
    """Declare `queue` with dead letters to the queue `dead`."""
    peer.declare("dead")
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"} | {
        key.replace("_", "-"): value for key, value in arguments.items()
    }
    peer.declare(queue, arguments)


def dead(peer: FakePeer) -> list[tuple[bytes, str, int]]:
    """Return body, reason and count of each dead letter."""
    found = []
    for message in peer.drain("dead"):
        death = message.headers["x-death"][0]
        found.append((message.body, death["reason"], death["count"]))
    return found


def test_a_rejected_message_is_a_dead_letter(peer):
    declared(peer)
    peer.publish("", "q", b"m")
    peer.get("q", no_ack=False)
    peer.send(Basic.Reject(1, requeue=False))
    assert dead(peer) == [(b"m", "rejected", 1)]


def test_many_rejected_at_once_keep_their_order(peer):
    declared(peer)
    for i in range(5):
        peer.publish("", "q", b"%d" % i)
    for _ in range(5):
        peer.get("q", no_ack=False)
    peer.send(Basic.Nack(4, multiple=True, requeue=False))
    assert dead(peer) == [(b"%d" % i, "rejected", 1) for i in range(4)]


def test_an_expired_message_is_a_dead_letter(world, peer):
    declared(peer, x_message_ttl=1_000)
    peer.publish("", "q", b"m")
    world.advance(1_000)
    assert dead(peer) == [(b"m", "expired", 1)]


def test_a_message_over_the_length_is_a_dead_letter(peer):
    declared(peer, x_max_length=2)
    for i in range(4):
        peer.publish("", "q", b"%d" % i)
    assert dead(peer) == [(b"0", "maxlen", 1), (b"1", "maxlen", 1)]


def test_reject_publish_dlx_sends_the_new_one_there(peer):
    declared(peer, x_max_length=1, x_overflow="reject-publish-dlx")
    for i in range(3):
        peer.publish("", "q", b"%d" % i)
    assert dead(peer) == [(b"1", "maxlen", 1), (b"2", "maxlen", 1)]
    assert peer.get("q").body == b"0"


def test_a_message_delivered_too_often_is_a_dead_letter(peer):
    peer.declare("dead")
    arguments = {"x-queue-type": "quorum", "x-delivery-limit": 2}
    arguments |= {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    peer.declare("q", arguments, durable=True)
    peer.publish("", "q", b"m")
    for tag in (1, 2, 3):
        peer.get("q", no_ack=False)
        peer.send(Basic.Nack(tag, requeue=True))
    assert dead(peer) == [(b"m", "delivery_limit", 1)]


def test_purge_and_delete_make_no_dead_letters(peer):
    declared(peer)
    peer.publish("", "q", b"m")
    peer.call(Queue.Purge(queue="q"))
    peer.publish("", "q", b"m")
    peer.call(Queue.Delete(queue="q"))
    assert dead(peer) == []


def test_x_death_tells_the_whole_story(world, peer):
    declared(peer)
    peer.call(Queue.Bind(queue="q", exchange="amq.topic", routing_key="a.#"))
    peer.publish("amq.topic", "a.b", b"m", headers={"mine": "kept"}, expiration="5000", delivery_mode=2, app_id="app")
    world.advance(5_000)
    message = peer.get("dead")
    (death,) = message.headers["x-death"]
    assert death["time"].timestamp() == world.clock.timestamp_ms // 1000
    del death["time"]
    assert death == {
        "count": 1,
        "reason": "expired",
        "queue": "q",
        "exchange": "amq.topic",
        "routing-keys": ["a.b"],
        "original-expiration": "5000",
    }
    headers = message.headers
    assert headers["mine"] == "kept"
    assert [headers[f"x-first-death-{what}"] for what in ("reason", "queue", "exchange")] == [
        "expired",
        "q",
        "amq.topic",
    ]
    properties = message.properties
    assert (properties.expiration, properties.delivery_mode, properties.app_id) == (None, 2, "app")
    assert (message.method.exchange, message.method.routing_key) == ("", "dead")


def test_without_a_key_of_its_own_it_keeps_the_routing_key(peer):
    peer.call(Exchange.Declare(exchange="dlx", exchange_type="topic"))
    peer.declare("dead")
    peer.call(Queue.Bind(queue="dead", exchange="dlx", routing_key="q"))
    peer.declare("q", {"x-dead-letter-exchange": "dlx", "x-max-length": 0})
    peer.publish("", "q", b"m")
    message = peer.get("dead")
    assert (message.method.exchange, message.method.routing_key) == ("dlx", "q")


def test_a_second_death_counts_and_keeps_the_first(peer):
    declared(peer)
    peer.publish("", "q", b"m")
    peer.send(Basic.Reject(peer.get("q", no_ack=False).method.delivery_tag, requeue=False))
    message = peer.get("dead")
    peer.publish("", "q", message.body, headers=message.headers)
    peer.send(Basic.Reject(peer.get("q", no_ack=False).method.delivery_tag, requeue=False))
    message = peer.get("dead")
    (death,) = message.headers["x-death"]
    assert (death["reason"], death["count"]) == ("rejected", 2)
    assert message.headers["x-first-death-queue"] == "q"


@pytest.mark.parametrize("kind", ["classic", "quorum"])
def test_the_first_and_the_last_death_have_headers_of_their_own(world, peer, kind):
    # RabbitMQ 3.13: `x-first-death-` never changes again, `x-last-death-` says the latest.
    peer.declare("dead")
    again = {"x-queue-type": kind, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    peer.declare("second", again | {"x-message-ttl": 10}, durable=True)
    first = {"x-queue-type": kind, "x-dead-letter-exchange": "amq.fanout", "x-dead-letter-routing-key": "k"}
    peer.declare("q", first, durable=True)
    peer.call(Queue.Bind(queue="second", exchange="amq.fanout"))
    peer.publish("", "q", b"m", headers={"x-first-death-queue": "a client's"})
    peer.send(Basic.Reject(peer.get("q", no_ack=False).method.delivery_tag, requeue=False))
    world.advance(10)
    headers = peer.get("dead").headers
    found = [[headers[f"x-{which}-death-{what}"] for what in ("queue", "reason", "exchange")] for which in FIRST_LAST]
    assert found == [["q", "rejected", ""], ["second", "expired", "amq.fanout"]]


@pytest.mark.parametrize("deaths", [[], "none", [1, 2], [{"queue": "q", "reason": "expired", "count": 3}]])
def test_a_history_that_a_client_wrote_counts_if_it_is_one(world, peer, deaths):
    declared(peer)
    peer.publish("", "q", b"m", headers={"x-death": deaths})
    peer.send(Basic.Reject(peer.get("q", no_ack=False).method.delivery_tag, requeue=False))
    headers = peer.get("dead").headers
    is_one = deaths[-1:] and isinstance(deaths[-1], dict)
    assert (headers["x-last-death-queue"], headers.get("x-first-death-queue")) == ("q", None if is_one else "q")


def test_equal_entries_that_a_client_sent_are_one(world, peer):
    # Java's XDeathHeaderGrowth, after RabbitMQ's group_by_queue_and_reason.
    declared(peer)
    sent = [{"queue": queue, "reason": "expired", "note": i} for queue in ("a", "a", "b") for i in range(4)]
    sent += [{"queue": "a", "reason": "rejected", "count": 7}, {"queue": "a", "reason": "rejected"}, {"queue": ["?"]}]
    peer.publish("", "q", b"m", headers={"x-death": sent})
    peer.get("q", no_ack=False)
    peer.send(Basic.Reject(1, requeue=False))
    found = peer.get("dead").headers["x-death"]
    assert [(d["queue"], d.get("reason"), d["count"]) for d in found] == [
        ("q", "rejected", 1),
        ("a", "expired", 8),
        ("b", "expired", 4),
        ("a", "rejected", 7),
        (["?"], None, 1),
    ]


def test_deaths_stand_newest_first(world, peer):
    peer.declare("dead")
    peer.declare("b", {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead", "x-message-ttl": 10})
    peer.declare("a", {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "b", "x-message-ttl": 10})
    peer.publish("", "a", b"m")
    world.advance(10)
    world.advance(10)
    deaths = peer.get("dead").headers["x-death"]
    assert [(death["queue"], death["reason"]) for death in deaths] == [("b", "expired"), ("a", "expired")]


def test_a_missing_dead_letter_exchange_drops_in_peace(world, peer):
    peer.declare("q", {"x-dead-letter-exchange": "nosuch", "x-max-length": 1})
    peer.publish("", "q", b"1")
    peer.publish("", "q", b"2")
    assert [m.body for m in peer.drain("q")] == [b"2"]


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_a_cycle_nobody_rejected_in_drops_the_message(world, peer, hops):
    for i in range(hops):
        arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": f"q{(i + 1) % hops}"}
        peer.declare(f"q{i}", arguments | {"x-message-ttl": 10})
    peer.publish("", "q0", b"m")
    for _ in range(hops + 1):
        world.advance(10)
    assert [peer.declare(f"q{i}", passive=True).message_count for i in range(hops)] == [0] * hops


def test_a_cycle_with_a_rejection_goes_round(peer):
    peer.declare("q", {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "q"})
    peer.publish("", "q", b"m")
    for tag in (1, 2, 3):
        assert peer.get("q", no_ack=False).body == b"m"
        peer.send(Basic.Reject(tag, requeue=False))
    assert peer.get("q").headers["x-death"][0]["count"] == 3


def chain(peer: FakePeer, length: int) -> None:
    """Declare `length` queues that hand on to each other at once, and a last one."""
    for i in range(length):
        arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": f"q{i + 1}", "x-max-length": 0}
        peer.send(Queue.Declare(queue=f"q{i}", arguments=arguments, nowait=True))
    peer.declare(f"q{length}")


def test_a_long_chain_of_overflowing_queues_needs_no_deep_stack(peer):
    chain(peer, 200)
    peer.publish("", "q0", b"m")
    message = peer.get("q200")
    assert message.body == b"m"
    assert [death["queue"] for death in message.headers["x-death"][:2]] == ["q199", "q198"]


def test_a_story_that_no_frame_can_hold_ends_with_its_message(world, peer, caplog):
    # each death adds its routing key to the headers, and 128 KiB of headers fit a frame
    chain(peer, 100)
    peer.call(Queue.Bind(queue="q0", exchange="amq.fanout"))
    frames = peer.publish_frames("amq.fanout", "k" * 255, b"m", headers={"long": "x" * 120_000})
    peer.send(*frames)
    assert peer.take() == []
    assert isinstance(peer.get("q100"), Basic.GetEmpty)
    assert [r.levelname for r in caplog.records if "dead-lettered too often" in r.getMessage()] == ["WARNING"]


def test_a_dead_letter_is_delivered_to_a_waiting_consumer(world, peer):
    declared(peer, x_message_ttl=10)
    peer.consume("dead", no_ack=True)
    peer.publish("", "q", b"m")
    world.advance(10)
    assert peer.bodies() == [b"m"]


def test_in_tx_the_letter_is_sent_at_commit(peer):
    declared(peer)
    peer.publish("", "q", b"m")
    peer.open(2)
    peer.call(Tx.Select(), 2)
    peer.get("q", channel=2, no_ack=False)
    peer.send(Basic.Reject(1, requeue=False), channel=2)
    assert dead(peer) == []
    peer.call(Tx.Commit(), 2)
    assert dead(peer) == [(b"m", "rejected", 1)]


def test_a_dlx_needs_read_on_the_queue_and_write_on_the_exchange(world):
    users = world.broker.users
    users.add("u", "secret", ())
    declare = Queue.Declare(queue="q", arguments={"x-dead-letter-exchange": "x"})
    users.set_permissions("u", "/", ".*", ".*", "none")
    text = "ACCESS_REFUSED - read access to queue 'q' in vhost '/' refused for user 'u'"
    assert world.connect(user="u", password="secret").error(declare) == (403, text)
    users.set_permissions("u", "/", ".*", "none", ".*")
    text = "ACCESS_REFUSED - write access to exchange 'x' in vhost '/' refused for user 'u'"
    assert world.connect(user="u", password="secret").error(declare) == (403, text)

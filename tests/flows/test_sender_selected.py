"""Headers and properties by which a publisher decides: CC, BCC, user-id; and the reasons to refuse a publish."""

from tests.fakes import Exchange, FakePeer, Queue


def bodies(peer: FakePeer, queue: str) -> list[bytes]:
    return [message.body for message in peer.drain(queue)]


def test_cc_and_bcc_route_to_more_queues(peer):
    for queue in ("to", "cc", "bcc"):
        peer.declare(queue)
    peer.publish("", "to", b"m", headers={"CC": ["cc"], "BCC": ["bcc"]})
    assert [bodies(peer, queue) for queue in ("to", "cc", "bcc")] == [[b"m"]] * 3


def test_bcc_is_taken_out_and_cc_stays(peer):
    peer.declare("to")
    peer.publish("", "to", b"m", headers={"CC": ["cc"], "BCC": ["bcc"], "other": 1})
    assert peer.get("to").headers == {"CC": ["cc"], "other": 1}


def test_a_queue_reached_twice_gets_one_copy(peer):
    peer.declare("to")
    peer.publish("", "to", b"m", headers={"CC": ["to", "to"]})
    assert bodies(peer, "to") == [b"m"]


def test_a_lying_user_id_is_406(peer):
    peer.declare("q")
    frames = peer.publish_frames("", "q", b"m", user_id="somebody")
    text = "PRECONDITION_FAILED - user_id property set to 'somebody' but authenticated user was 'guest'"
    assert peer.error(*frames) == (406, text)
    peer.publish("", "q", b"m", user_id="guest")
    assert peer.get("q").properties.user_id == "guest"


def test_an_impersonator_may_say_what_it_likes(world):
    world.broker.users.add("proxy", "secret", ("impersonator",))
    world.broker.users.set_permissions("proxy", "/", ".*", ".*", ".*")
    peer = world.connect(user="proxy", password="secret")
    peer.declare("q")
    peer.publish("", "q", b"m", user_id="somebody")
    assert peer.get("q").properties.user_id == "somebody"


def test_publishing_to_an_unknown_exchange_is_404(peer):
    frames = peer.publish_frames("nosuch", "k", b"m")
    assert peer.error(*frames) == (404, "NOT_FOUND - no exchange 'nosuch' in vhost '/'")


def test_publishing_to_an_internal_exchange_is_403(peer):
    peer.call(Exchange.Declare(exchange="inner", exchange_type="fanout", internal=True))
    text = "ACCESS_REFUSED - cannot publish to internal exchange 'inner' in vhost '/'"
    assert peer.error(*peer.publish_frames("inner", "k", b"m")) == (403, text)


def test_a_change_of_bindings_is_seen_by_the_next_message(peer):
    peer.declare("q")
    peer.publish("amq.direct", "k", b"before")
    peer.call(Queue.Bind(queue="q", exchange="amq.direct", routing_key="k"))
    peer.publish("amq.direct", "k", b"bound")
    peer.call(Queue.Unbind(queue="q", exchange="amq.direct", routing_key="k"))
    peer.publish("amq.direct", "k", b"after")
    assert bodies(peer, "q") == [b"bound"]


def test_a_change_of_permissions_is_seen_by_the_next_message(world, peer):
    peer.declare("q")
    peer.publish("", "q", b"1")
    world.broker.users.set_permissions("guest", "/", ".*", "none", ".*")
    error = peer.error(*peer.publish_frames("", "q", b"2"))
    assert error == (
        403,
        "ACCESS_REFUSED - write access to exchange 'amq.default' in vhost '/' refused for user 'guest'",
    )


def test_a_body_above_the_maximum_is_refused_at_its_header(world, peer):
    world.broker.settings.message_octets_max = 1_000
    peer.declare("q")
    text = "PRECONDITION_FAILED - message size 1001 is larger than configured max size 1000"
    assert peer.error(*peer.publish_frames("", "q", bytes(1_001))) == (406, text)

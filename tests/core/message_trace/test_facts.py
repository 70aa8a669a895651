from pybroker.core.message_trace.facts import of_content, of_names, state_of, who
from pybroker.core.message_trace.followed import READY, UNACKNOWLEDGED, Copy


def test_a_client_is_named_as_it_names_itself(peer):
    peer.session.client_properties["connection_name"] = "billing"
    channel = peer.session.channels[1]
    assert {"user": "guest", "connection": peer.session.name, "client_name": "billing", "channel": 1} == who(channel)


def test_a_message_is_told_from_others_by_its_properties(world, peer):
    peer.publish("", "q", b"body", correlation_id="c", content_type="text/plain")
    run = world.vhost.queues["q"].backlog.head().run
    assert {"body_bytes": 4, "correlation_id": "c"} == of_content(run.content(0))
    assert {"exchange": "", "routing_key": "q"} == of_names(run.names)


def test_a_copy_is_somewhere_since_some_time(world, peer):
    copy = Copy(world.vhost.queues["q"], 1, READY, 10)
    ready = {"queue": "q", "state": READY, "for_ms": 5, "why": "no_consumer", "messages_ready": 0, "consumers": 0}
    assert ready == state_of(copy, 15)
    copy.become(UNACKNOWLEDGED, 20, {"user": "u"})
    assert {"queue": "q", "state": UNACKNOWLEDGED, "for_ms": 0, "user": "u"} == state_of(copy, 20)

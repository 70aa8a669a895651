"""Class access: AMQP 0-8's, which RabbitMQ still answers."""

REQUEST = b"\x00\x1e\x00\x0a" + b"\x05/data" + b"\x1f"
REQUEST_OK = b"\x01\x00\x01\x00\x00\x00\x06\x00\x1e\x00\x0b\x00\x01\xce"


def test_a_ticket_is_given_to_whoever_asks(world, peer):
    peer.send_octets(b"\x01\x00\x01" + len(REQUEST).to_bytes(4) + REQUEST + b"\xce")
    session = peer.session
    assert b"".join(session.pop_output()) == REQUEST_OK
    session.output_sent(0)
    assert peer.declare("q").queue == "q"


def test_a_request_cut_short_is_refused(world, peer):
    request = REQUEST[:7]
    peer.send_octets(b"\x01\x00\x01" + len(request).to_bytes(4) + request + b"\xce")
    world.run()
    assert peer.next(0).reply_code in (501, 502)

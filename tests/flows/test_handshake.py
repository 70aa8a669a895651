"""From the protocol header to connection.open-ok, and back to the close (AMQP §2.2.4)."""

import pytest
from pamqp import frame

from tests.fakes import PROTOCOL_HEADER, Basic, Channel, Connection, FakePeer, World

SERVER_CAPABILITIES = {
    "publisher_confirms",
    "exchange_exchange_bindings",
    "basic.nack",
    "consumer_cancel_notify",
    "connection.blocked",
    "consumer_priorities",
    "authentication_failure_close",
    "per_consumer_qos",
    "direct_reply_to",
    "pybroker.transaction_sequence",
}


def started(world: World, **options) -> FakePeer:
    peer = world.peer(**options)
    peer.send_octets(PROTOCOL_HEADER)
    world.run()
    peer.start = peer.next(0)
    return peer


def log_in(peer: FakePeer, mechanism: str = "PLAIN", response: str = "\0guest\0guest", **properties) -> None:
    properties = {"capabilities": peer.capabilities, **properties}
    peer.send(Connection.StartOk(properties, mechanism, response), channel=0)


def test_start_offers_rabbitmqs_mechanisms_capabilities_and_product(world):
    # E10: the list of capabilities is what clients decide by
    start = started(world).start
    assert (start.version_major, start.version_minor, start.locales) == (0, 9, "en_US")
    assert start.mechanisms == "AMQPLAIN PLAIN"  # in this order, as RabbitMQ
    properties = start.server_properties
    assert {name for name, on in properties["capabilities"].items() if on is True} == SERVER_CAPABILITIES
    assert (properties["product"], properties["version"]) == ("RabbitMQ", "3.13.0")
    assert properties["platform"].startswith("pybroker ")


def test_tune_offers_rabbitmqs_defaults(world):
    # G9
    peer = started(world)
    log_in(peer)
    tune = peer.next(0)
    assert (tune.channel_max, tune.frame_max, tune.heartbeat) == (2047, 131_072, 60)


def test_a_connection_opens_and_closes(world):
    peer = world.peer()
    peer.shake_hands()
    assert peer.session.state == "running"
    assert isinstance(peer.call(Connection.Close(200, "goodbye", 0, 0), 0), Connection.CloseOk)
    assert peer.session.finished


def test_amqplain_logs_in(world):
    peer = started(world)
    table = b"\x05LOGINS\x00\x00\x00\x05guest\x08PASSWORDS\x00\x00\x00\x05guest"
    log_in(peer, "AMQPLAIN", table.decode("latin-1"))
    assert isinstance(peer.next(0), Connection.Tune)


@pytest.mark.parametrize("chunks", [[b"AMQP\x01\x01\x00\x09"], [b"AMQP\x01", b"\x01\x00\x09"]])
def test_the_header_of_0_9_is_taken_for_0_9_1(world, chunks):
    # py-amqp 1.4, and Celery 3 with it, send this one (RabbitMQ: rabbit_reader.erl, handshake).
    peer = world.peer()
    for chunk in chunks:
        peer.send_octets(chunk)
    world.run()
    start = peer.next(0)
    assert (start.version_major, start.version_minor) == (0, 9)
    log_in(peer)
    assert isinstance(peer.next(0), Connection.Tune)


@pytest.mark.parametrize("header", [b"HTTP/1.1", b"AMQP\x00\x01\x00\x00", b"AMQP\x01\x01\x00\x0a"])
def test_a_wrong_protocol_header_is_answered_with_ours(world, header):
    peer = world.peer()
    peer.send_octets(header)
    world.run()
    assert peer.take(0) == [PROTOCOL_HEADER]
    assert peer.session.finished


def test_the_handshake_may_come_octet_by_octet(world):
    peer = world.peer()
    response = Connection.StartOk({"capabilities": {}}, "PLAIN", "\0guest\0guest")
    frames = [(response, 0), (Connection.TuneOk(0, 0, 0), 0), (Connection.Open("/"), 0), (Channel.Open(), 1)]
    frames[1] = (Connection.TuneOk(2047, 131_072, 0), 0)
    for octet in PROTOCOL_HEADER + b"".join(frame.marshal(f, channel) for f, channel in frames):
        peer.send_octets(bytes([octet]))
    world.run()
    assert [type(f) for f in peer.take(0)] == [Connection.Start, Connection.Tune, Connection.OpenOk]
    assert isinstance(peer.next(1), Channel.OpenOk)


def test_a_wrong_password_is_refused_with_403(world):
    peer = started(world)
    log_in(peer, response="\0guest\0wrong")
    close = peer.next(0)
    text = "Login was refused using authentication mechanism PLAIN. For details see the broker logfile."
    assert (close.reply_code, close.reply_text) == (403, f"ACCESS_REFUSED - {text}")


def test_what_a_stranger_says_of_itself_is_not_kept(world):
    peer = world.peer()
    log_in(peer, response="\0guest\0wrong")
    assert {} == peer.session.client_properties


def test_an_unknown_user_is_refused_like_a_wrong_password(world):
    replies = []
    for response in ("\0guest\0wrong", "\0nobody\0wrong"):
        peer = started(world)
        log_in(peer, response=response)
        replies.append(peer.next(0).reply_text)
    assert replies[0] == replies[1]


def test_a_client_that_does_not_know_authentication_failure_close_is_cut_off(world):
    peer = started(world, capabilities={})
    log_in(peer, response="\0guest\0wrong")
    assert peer.take(0) == []
    world.advance(10_000)
    assert peer.session.finished


def test_guest_may_not_come_from_afar(world):
    peer = started(world, peer=("192.0.2.7", 40_000), peer_is_local=False)
    log_in(peer)
    assert peer.next(0).reply_code == 403


def test_an_unknown_mechanism_is_503(world):
    peer = started(world)
    log_in(peer, "MAGIC", "")
    close = peer.next(0)
    assert (close.reply_code, close.reply_text) == (503, "COMMAND_INVALID - unknown authentication mechanism 'MAGIC'")


def test_an_unknown_virtual_host_is_530(world):
    peer = started(world)
    log_in(peer)
    peer.take(0)
    peer.send(Connection.TuneOk(2047, 131_072, 0), channel=0)
    assert peer.error(Connection.Open("nosuch"), channel=0) == (530, "NOT_ALLOWED - vhost nosuch not found")


def test_a_virtual_host_without_permissions_is_530(world):
    world.broker.add_vhost("other")
    peer = started(world)
    log_in(peer)
    peer.take(0)
    peer.send(Connection.TuneOk(2047, 131_072, 0), channel=0)
    text = "NOT_ALLOWED - access to vhost 'other' refused for user 'guest'"
    assert peer.error(Connection.Open("other"), channel=0) == (530, text)


@pytest.mark.parametrize(
    ("tune", "text"),
    [
        ((2047, 4_095, 0), "negotiated frame_max = 4095 is lower than the minimum allowed value (4096)"),
        ((2047, 131_073, 0), "negotiated frame_max = 131073 is higher than the maximum allowed value (131072)"),
        ((2047, 0, 0), "negotiated frame_max = 0 is higher than the maximum allowed value (131072)"),
        ((2048, 131_072, 0), "negotiated channel_max = 2048 is higher than the maximum allowed value (2047)"),
        ((0, 131_072, 0), "negotiated channel_max = 0 (no limit) is higher than the maximum allowed value (2047)"),
    ],
)
def test_tune_ok_beyond_the_offer_is_530(world, tune, text):
    # G9
    peer = started(world)
    log_in(peer)
    peer.take(0)
    peer.send(Connection.TuneOk(*tune), channel=0)
    close = peer.next(0)
    assert (close.reply_code, close.reply_text) == (530, f"NOT_ALLOWED - {text}")


@pytest.mark.parametrize("method", [Basic.Qos(), Connection.Start()])
def test_what_does_not_belong_on_channel_0_is_504(peer, method):
    assert peer.error(method, channel=0) == (504, "CHANNEL_ERROR - unexpected method in connection state running")


def test_channel_max_counts_channels_and_leaves_their_numbers_free(world):
    # G9
    peer = world.connect(channel_max=2)
    assert isinstance(peer.call(Channel.Open(), channel=65_535), Channel.OpenOk)


def test_channel_max_is_kept(world):
    # G9
    peer = world.connect(channel_max=2)
    peer.open(2)
    text = "NOT_ALLOWED - number of channels opened (2) has reached the negotiated channel_max (2)"
    assert peer.error(Channel.Open(), channel=3) == (530, text)


def test_channel_open_comes_on_the_channels_own_number(world, peer):
    # G10: the document has it on channel 0
    assert isinstance(peer.call(Channel.Open(), 7), Channel.OpenOk)
    assert peer.error(Channel.Open(), channel=0)[0] == 504


def test_a_second_open_is_504(peer):
    assert peer.error(Channel.Open()) == (504, "CHANNEL_ERROR - second 'channel.open' seen")


def test_a_method_on_a_channel_that_is_not_open_is_504(peer):
    assert peer.error(Basic.Get(queue="q"), channel=2) == (504, "CHANNEL_ERROR - expected 'channel.open'")


def test_a_closed_channels_number_can_be_used_again(peer):
    for _ in range(3):
        assert isinstance(peer.call(Channel.Close(200, "", 0, 0)), Channel.CloseOk)
        peer.open(1)


def test_thousands_of_channels_are_open_at_once(world):
    # G11
    peer = world.connect()
    for number in range(2, 2048):
        peer.open(number)
    assert len(peer.session.channels) == 2047
    assert isinstance(peer.declare("q", channel=2047), object)


def test_heartbeats_are_sent_at_half_the_interval_and_expected_within_two(world):
    peer = world.connect(heartbeat_s=10)
    for _ in range(4):
        world.advance(5_000)
    assert peer.heartbeats >= 3
    world.advance(1_000)
    assert peer.session.finished


def test_heartbeats_from_the_peer_keep_the_connection(world):
    peer = world.connect(heartbeat_s=10)
    for _ in range(10):
        world.advance(5_000)
        peer.send_octets(b"\x08\x00\x00\x00\x00\x00\x00\xce")
    assert not peer.session.finished


def test_a_peer_that_says_nothing_is_cut_off_at_the_handshake_deadline(world):
    peer = world.peer()
    world.advance(10_000)
    assert peer.session.finished


def test_update_secret_is_answered(peer):
    assert isinstance(peer.call(Connection.UpdateSecret("new", "rotation"), 0), Connection.UpdateSecretOk)


def test_connections_are_independent(world):
    # G3: a hard error of one is nothing to the other
    one, other = world.connect(), world.connect()
    one.error(Channel.Open())
    assert isinstance(other.declare("q"), object)
    assert other.session.state == "running"


def test_stopping_tells_320(world, peer):
    peer.session.close(320, "broker forced connection closure with reason 'shutdown'")
    world.run()
    close = peer.next(0)
    assert close.reply_code == 320
    assert close.reply_text == "CONNECTION_FORCED - broker forced connection closure with reason 'shutdown'"

"""A login whose password is checked elsewhere: what waits, what may happen meanwhile, and what the peer is told."""

import pytest
from argon2.low_level import Type, hash_secret

from pybroker.core.auth.login import WAITING_MAX
from pybroker.core.auth.password import ARGON2ID
from tests.fakes import CAPABILITIES, PROTOCOL_HEADER, Channel, Connection, World
from tests.inline_worker import InlineWorker

# As small as there is one: what it costs is not what is tested here.
HASH = hash_secret(b"secret", b"0123456789abcdef", time_cost=1, memory_cost=8, parallelism=1, hash_len=32, type=Type.ID)
REFUSED = "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. For details see the broker logfile."


@pytest.fixture
def world() -> World:
    world = World()
    world.broker.logins.worker = InlineWorker()
    world.broker.users.add_hashed("slow", HASH, ARGON2ID)
    world.broker.users.set_permissions("slow", "/", ".*", ".*", ".*")
    return world


def start_ok(user="slow", password="secret", capabilities=CAPABILITIES):
    return Connection.StartOk({"capabilities": capabilities}, "PLAIN", f"\0{user}\0{password}")


def asked(world: World, *, user="slow", password="secret", capabilities=CAPABILITIES, **options):
    """Return a peer that has sent its password."""
    peer = world.peer(**options)
    peer.send_octets(PROTOCOL_HEADER)
    world.run()
    peer.take(0)
    peer.send(start_ok(user, password, capabilities), channel=0)
    return peer


def check_passwords(world: World) -> None:
    world.broker.logins.worker.run()
    world.run()


def test_the_peer_waits_until_its_password_is_checked(world):
    peer = asked(world)
    assert (peer.take(0), peer.session.state) == ([], "securing")
    check_passwords(world)
    assert isinstance(peer.next(0), Connection.Tune)
    assert peer.session.user.name == "slow"


def test_a_password_that_is_known_waits_for_nobody(world):
    asked(world)
    check_passwords(world)
    assert isinstance(asked(world).next(0), Connection.Tune)


def test_users_with_quick_hashes_wait_for_nobody(world):
    for _ in range(2 * WAITING_MAX):
        asked(world, password="wrong")
    world.connect()


def test_what_the_peer_sends_before_its_time_waits_with_it(world):
    peer = world.peer()
    peer.send_octets(PROTOCOL_HEADER)
    world.run()
    peer.take(0)
    peer.send(start_ok(), Connection.TuneOk(10, 131_072, 0), Connection.Open("/"), channel=0)
    assert peer.take(0) == []
    check_passwords(world)
    assert [type(each) for each in peer.take(0)] == [Connection.Tune, Connection.OpenOk]
    peer.open(1)


def test_a_peer_that_goes_meanwhile_breaks_nothing(world):
    gone, stays = asked(world), asked(world)
    gone.disconnect()
    check_passwords(world)
    assert isinstance(stays.next(0), Connection.Tune)
    assert list(world.broker.sessions.values()) == [stays.session]
    assert gone.take(0) == []


def test_a_handshake_that_takes_too_long_ends_also_while_it_waits(world):
    peer = asked(world)
    world.advance(10_000)
    assert peer.session.finished
    check_passwords(world)
    assert (peer.take(0), peer.session.state) == ([], "closed")


def test_a_connection_that_is_closed_by_us_meanwhile_is_not_opened(world):
    peer = asked(world)
    peer.session.close(320, "shutdown")
    world.run()
    check_passwords(world)
    answers = peer.take(0)
    assert [(type(each), each.reply_text) for each in answers] == [(Connection.Close, "CONNECTION_FORCED - shutdown")]
    assert peer.session.user is None
    # Else its answer would not be read, and a stop would wait for it in vain.
    assert peer.session.readable


@pytest.mark.parametrize(
    ("user", "password"), [("slow", "wrong"), ("nobody", "secret"), ("guest", "wrong"), ("slow", "")]
)
def test_a_refusal_is_the_same_for_all_and_leaves_late(world, user, password):
    peer = asked(world, user=user, password=password)
    now_ms = world.clock.now_ms
    world.clock.advance(200)
    check_passwords(world)
    close = peer.next(0)
    assert (close.reply_code, close.reply_text, close.class_id, close.method_id) == (403, REFUSED, 0, 0)
    session = peer.session
    # Counted from the attempt: how long the check took is not seen.
    assert now_ms + 1_000 <= session.answer_at_ms < now_ms + 3_000
    assert (session.finished, session.state, session.client_properties) == (True, "closed", {})


def test_who_does_not_understand_a_close_is_told_by_the_end(world):
    peer = asked(world, password="wrong", capabilities={})
    check_passwords(world)
    assert (peer.take(0), peer.session.finished, peer.session.answer_at_ms > 0) == ([], True, True)


def test_too_many_at_once_are_told_to_try_again(world):
    peers = [asked(world, password="wrong") for _ in range(WAITING_MAX + 2)]
    close = peers[-1].next(0)
    text = f"RESOURCE_ERROR - Login was not checked: {WAITING_MAX} passwords are waiting to be checked"
    assert (close.reply_code, close.reply_text) == (506, text + "; try again in a second")
    # From another address there is room.
    other = asked(world, peer=("192.0.2.1", 40_000), peer_is_local=False)
    check_passwords(world)
    assert isinstance(other.next(0), Connection.Tune)


def test_a_user_of_this_machine_alone_is_refused_from_elsewhere_with_the_right_password(world, caplog):
    world.broker.settings.loopback_users = frozenset({"slow"})
    peer = asked(world, peer=("192.0.2.1", 40_000), peer_is_local=False)
    check_passwords(world)
    assert peer.next(0).reply_text == REFUSED
    assert "user 'slow' - can only connect via localhost" in caplog.text


def test_a_second_start_ok_meanwhile_is_504(world):
    peer = asked(world)
    peer.send(start_ok(), channel=0)
    check_passwords(world)
    assert [each.reply_code for each in peer.take(0)] == [504]


def test_the_password_changed_while_connected_changes_nothing_for_who_is_in(world):
    peer = asked(world)
    check_passwords(world)
    peer.take(0)
    peer.send(Connection.TuneOk(10, 131_072, 0), channel=0)
    peer.call(Connection.Open("/"), 0)
    world.broker.users.set_hashed("slow", b"salt" + b"x" * 32, "rabbit_password_hashing_sha256")
    assert isinstance(peer.call(Channel.Open()), Channel.OpenOk)
    assert asked(world).next(0).reply_code == 403

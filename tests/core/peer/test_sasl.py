"""Mechanisms that a peer is offered, and logins by certificate."""

import logging

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from pybroker.core.peer.login import REFUSAL_MS_MIN
from pybroker.tls_facts import TlsFacts
from tests.certificates import Authority
from tests.fakes import PROTOCOL_HEADER, Connection, FakePeer, World

MECHANISMS = ("PLAIN", "AMQPLAIN", "EXTERNAL")
REFUSED = "Login was refused using authentication mechanism EXTERNAL. For details see the broker logfile."


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def issue(authority):
    """Issue a certificate; return what TLS says of a peer that brought it."""

    def issue(common_name: str = "guest", **more) -> TlsFacts:
        pair = authority.client("a", common_name, **more)
        return TlsFacts("tlsv1.3", "any", "aes_256_gcm", "aead", pair.der)

    return issue


def started(world: World, tls: TlsFacts | None, **options) -> FakePeer:
    peer = world.peer(tls=tls, **options)
    peer.send_octets(PROTOCOL_HEADER)
    world.run()
    peer.start = peer.next(0)
    return peer


def log_in(peer: FakePeer, mechanism: str = "EXTERNAL", response: str = ""):
    """Return the answer to a login."""
    peer.send(Connection.StartOk({"capabilities": peer.capabilities}, mechanism, response), channel=0)
    return peer.next(0)


def world_of(**settings) -> World:
    return World(auth_mechanisms=MECHANISMS, **{"cert_login_from": "common_name", **settings})


def test_external_is_offered_to_a_peer_with_a_verified_certificate_alone(issue):
    world = world_of()
    assert started(world, issue()).start.mechanisms == "AMQPLAIN EXTERNAL PLAIN"
    assert started(world, TlsFacts("tlsv1.3", "any", "", "", b"")).start.mechanisms == "AMQPLAIN PLAIN"
    assert started(world, None).start.mechanisms == "AMQPLAIN PLAIN"


def test_external_is_not_offered_where_it_is_not_configured(issue):
    assert started(World(), issue()).start.mechanisms == "AMQPLAIN PLAIN"


@pytest.mark.parametrize(
    ("mechanism", "text"),
    [
        ("EXTERNAL", "COMMAND_INVALID - invalid authentication mechanism 'EXTERNAL'"),
        ("MAGIC", "COMMAND_INVALID - unknown authentication mechanism 'MAGIC'"),
    ],
)
def test_a_mechanism_that_was_not_offered_is_503(mechanism, text):
    close = log_in(started(world_of(), None), mechanism)
    assert (close.reply_code, close.reply_text) == (503, text)


def test_a_user_without_password_logs_in_by_certificate(issue):
    world = world_of()
    world.broker.users.add_hashed("machine", b"", "rabbit_password_hashing_sha256")
    world.broker.users.set_permissions("machine", "/", ".*", ".*", ".*")
    peer = started(world, issue("machine"))
    assert isinstance(log_in(peer), Connection.Tune)
    peer.send(Connection.TuneOk(2047, 131_072, 0), channel=0)
    assert isinstance(peer.call(Connection.Open("/"), 0), Connection.OpenOk)
    assert (peer.session.user.name, peer.session.auth_mechanism) == ("machine", "EXTERNAL")


def test_the_response_is_disregarded_and_passwords_still_count(issue):
    world = world_of()
    world.broker.users.add("other", "secret")
    peer = started(world, issue("other"))
    log_in(peer, response="guest")
    assert peer.session.user.name == "other"
    # A certificate is no password, nor the other way round.
    assert log_in(started(world, issue("other")), "PLAIN", "\0other\0wrong").reply_code == 403


@pytest.mark.parametrize(
    ("settings", "more"),
    [
        ({"cert_login_from": "distinguished_name"}, {"subject": {NameOID.ORGANIZATION_NAME: "a, b"}}),
        ({"cert_login_from": "common_name"}, {"common_name": r"O=a\, b"}),
        (
            {"cert_login_from": "subject_alternative_name", "cert_login_name_index": 1},
            {"sans": [x509.RFC822Name("x@y"), x509.DNSName("first"), x509.DNSName(r"O=a\, b")]},
        ),
    ],
)
def test_the_configuration_says_which_name_counts(issue, settings, more):
    world = world_of(**settings)
    world.broker.users.add_hashed(r"O=a\, b", b"", "rabbit_password_hashing_sha256")
    assert isinstance(log_in(started(world, issue(**more))), Connection.Tune)


# Name in the certificate, and the end of the log line.
HOSTILE = [
    ("nobody", "user 'nobody' - invalid credentials"),
    ("gu\nest", r"user 'gu\nest' - invalid credentials"),
    ("guest\0", r"user 'guest\x00' - invalid credentials"),
    ("\u202etseug", r"user '\u202etseug' - invalid credentials"),
    ("\x1b[2J", r"user '\x1b[2J' - invalid credentials"),
]


@pytest.mark.parametrize(("name", "text"), HOSTILE)
def test_a_name_that_no_user_has_is_refused_and_logged_as_one_line(issue, caplog, name, text):
    world = world_of()
    heard = []
    world.broker.events.add_receiver(lambda *given: heard.append(given))
    peer = started(world, issue(name))
    with caplog.at_level(logging.INFO):
        close = log_in(peer)
    assert (close.reply_code, close.reply_text) == (403, f"ACCESS_REFUSED - {REFUSED}")
    [line] = [record.getMessage() for record in caplog.records]
    assert line == f"EXTERNAL login refused: {text} (connection {peer.session.name})"
    [(event, facts, *_)] = heard
    assert event == "user.authentication.failure"
    assert (facts["name"], facts["ssl"], facts["ssl_protocol"]) == (name, True, "tlsv1.3")
    assert facts["peer_cert_subject"].startswith("CN=")
    assert facts["peer_cert_issuer"] == "CN=pybroker test authority"


def test_the_answer_to_a_wrong_name_waits_as_that_to_a_wrong_password(issue):
    world = world_of()
    peer = started(world, issue("nobody"))
    log_in(peer)
    assert peer.session.answer_at_ms >= world.clock.now_ms + REFUSAL_MS_MIN - 1


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, "no name found by common_name in the certificate of 'O=x'"),
        (
            {"cert_login_from": "subject_alternative_name"},
            "no name found by subject_alternative_name in the certificate of 'O=x'",
        ),
    ],
)
def test_a_certificate_without_the_name_is_refused(issue, caplog, settings, text):
    peer = started(world_of(**settings), issue(subject={NameOID.ORGANIZATION_NAME: "x"}))
    assert log_in(peer).reply_code == 403
    assert [f"EXTERNAL login refused: {text} (connection {peer.session.name})"] == caplog.messages


def test_a_certificate_that_cannot_be_read_is_refused(caplog):
    peer = started(world_of(), TlsFacts("tlsv1.3", "any", "", "", b"0\n"))
    assert log_in(peer).reply_code == 403
    [line] = caplog.messages
    assert line.startswith("EXTERNAL login refused: the certificate cannot be read: ")
    assert peer.session.certificate.subject == ""


def test_a_user_of_this_machine_may_not_come_from_afar_with_a_certificate(issue, caplog):
    peer = started(world_of(), issue("guest"), peer=("192.0.2.7", 40_000), peer_is_local=False)
    assert log_in(peer).reply_code == 403
    [line] = caplog.messages
    assert "user 'guest' - can only connect via localhost" in line


def test_limits_hold_for_users_with_certificates(issue):
    world = world_of()
    world.broker.users.set_limits("guest", {"max-connections": 0})
    peer = started(world, issue("guest"))
    log_in(peer)
    peer.send(Connection.TuneOk(2047, 131_072, 0), channel=0)
    code, text = peer.error(Connection.Open("/"), channel=0)
    assert code == 530
    assert "limit (0)" in text

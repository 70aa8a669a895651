"""Peers that are let in after a handshake: depth, resumed sessions, certificates by name. Both ends are in memory."""

import ssl
import time

import pytest

from pybroker.core.auth.certificate import certificate_of, read_certificate
from pybroker.net.tls_context import TlsContexts, Untrusted
from tests.certificates import Authority, make_certificates
from tests.net.tls import client_context, server_context


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("certificates"))


def verifying(made, depth: int = 10, by_name=()) -> TlsContexts:
    default = server_context(made.server, made.authority, required=True)
    return TlsContexts(default, dict(by_name), verifies=True, depth=depth)


def shake_hands(contexts, client_context, name="localhost", session=None):
    """Return both ends after a handshake."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context.wrap_bio(to_client, to_server, server_hostname=name, session=session)
    server = contexts.wrap(to_server, to_client)
    left = [client, server]
    for _ in range(10):
        for end in list(left):
            try:
                end.do_handshake()
                left.remove(end)
            except ssl.SSLWantReadError:
                pass
    assert not left
    return server, client


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_the_facts_are_what_was_agreed_on(made, version):
    contexts = verifying(made)
    server, client = shake_hands(contexts, client_context(made.authority, made.client, gevents=False, version=version))
    facts = contexts.admit(server)
    assert facts.protocol == client.version().lower()
    assert facts.cipher == "aes_256_gcm"
    assert facts.certificate == made.client.der


def test_a_certificate_that_nobody_verifies_is_not_told(made):
    contexts = TlsContexts(server_context(made.server), {}, verifies=False, depth=0)
    server, _ = shake_hands(contexts, client_context(made.authority, made.client, gevents=False))
    assert contexts.admit(server).certificate == b""


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("depth", [0, 1])
def test_as_many_authorities_may_stand_between_as_the_depth_says(made, tmp_path, version, depth):
    deep = Authority(tmp_path, "between", made.authority).client("deep")
    contexts = verifying(made, depth)
    context = client_context(made.authority, deep, gevents=False, version=version)
    server, _ = shake_hands(contexts, context)
    if depth:
        assert contexts.admit(server).certificate == deep.der
    else:
        with pytest.raises(Untrusted, match=r"1 authorities between .* at most 0"):
            contexts.admit(server)


def test_tls_13_is_not_resumed(made):
    contexts = verifying(made)
    context = client_context(made.authority, made.client, gevents=False, version=ssl.TLSVersion.TLSv1_3)
    server, client = shake_hands(contexts, context)
    with pytest.raises(ssl.SSLWantReadError):
        client.read()
    assert client.session is None or not client.session.has_ticket
    assert not server.session_reused


def test_a_resumed_session_is_let_in_while_its_certificate_is_valid(made, monkeypatch):
    contexts = verifying(made)
    context = client_context(made.authority, made.client, gevents=False, version=ssl.TLSVersion.TLSv1_2)
    server, client = shake_hands(contexts, context)
    contexts.admit(server)
    again, _ = shake_hands(contexts, context, session=client.session)
    assert again.session_reused
    assert contexts.admit(again).certificate == made.client.der
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 91 * 86_400)
    with pytest.raises(Untrusted, match="expired"):
        contexts.admit(again)


def test_a_session_that_was_never_let_in_cannot_be_resumed(made, tmp_path):
    deep = Authority(tmp_path, "between", made.authority).client("deep")
    contexts = verifying(made, depth=0)
    context = client_context(made.authority, deep, gevents=False, version=ssl.TLSVersion.TLSv1_2)
    server, client = shake_hands(contexts, context)
    with pytest.raises(Untrusted):
        contexts.admit(server)
    again, _ = shake_hands(contexts, context, session=client.session)
    assert again.session_reused
    with pytest.raises(Untrusted):
        contexts.admit(again)


def test_so_many_certificates_are_known_as_openssl_keeps_sessions(made, monkeypatch):
    monkeypatch.setattr("pybroker.net.tls_context.SESSIONS_MAX", 2)
    contexts = verifying(made)
    for n in range(4):
        context = client_context(made.authority, made.authority.client(f"client{n}"), gevents=False)
        for _ in range(2):
            contexts.admit(shake_hands(contexts, context)[0])
    assert len(contexts._accepted) == 2


def test_python_is_not_asked_for_the_session_of_which_it_loses_memory(made, monkeypatch):
    contexts = verifying(made)
    server, _ = shake_hands(contexts, client_context(made.authority, made.client, gevents=False))
    monkeypatch.setattr(ssl.SSLObject, "session", property(lambda _: pytest.fail("asked")))
    assert contexts.admit(server).certificate == made.client.der


@pytest.mark.parametrize(("name", "common_name"), [("mq.example.com", "mq.example.com"), ("localhost", "localhost")])
def test_a_name_has_its_own_certificate(made, name, common_name):
    other = made.authority.server("named", ["mq.example.com"])
    contexts = verifying(made, by_name=[("mq.example.com", server_context(other, made.authority, required=True))])
    server, client = shake_hands(contexts, client_context(made.authority, made.client, gevents=False), name)
    [[[_, found]]] = client.getpeercert()["subject"]
    assert found == common_name
    # The rules are the same.
    assert contexts.admit(server).certificate == made.client.der


def test_a_name_does_not_save_from_showing_a_certificate(made):
    other = made.authority.server("named", ["mq.example.com"])
    contexts = verifying(made, by_name=[("mq.example.com", server_context(other, made.authority, required=True))])
    with pytest.raises(ssl.SSLError, match=r"did not return a certificate|PEER_DID_NOT_RETURN"):
        shake_hands(contexts, client_context(made.authority, gevents=False), "mq.example.com")


def test_the_loop_finds_a_certificate_read(made):
    read_certificate.cache_clear()
    contexts = verifying(made)
    server, _ = shake_hands(contexts, client_context(made.authority, made.client, gevents=False))
    facts = contexts.admit(server)
    assert read_certificate.cache_info().misses == 1
    assert certificate_of(facts).subject
    assert read_certificate.cache_info().misses == 1

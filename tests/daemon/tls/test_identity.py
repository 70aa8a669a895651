"""Logins by certificate at a running daemon, with the client library; what listings, log and audit log say of them."""

import json
import time
from datetime import timedelta

import pytest

from pybroker.client import Address, Connection, Options, Tls
from pybroker.client.errors import AuthenticationFailed, ConnectFailed
from tests.certificates import Authority, Pair
from tests.daemon.running import Running
from tests.daemon.tls.test_front import port_of

DAY = timedelta(days=1)


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def running(authority, tmp_path_factory):
    folder = tmp_path_factory.mktemp("node")
    pair = authority.server(ends=20 * DAY)
    config = folder / "pybroker.conf"
    lines = [
        "listeners.tcp = none",
        "stream.listeners.tcp = none",
        "listeners.ssl.default = 127.0.0.1:0",
        "node.name = test@here",
        f"ssl_options.certfile = {pair.certificate}",
        f"ssl_options.keyfile = {pair.key}",
        f"ssl_options.cacertfile = {authority.certificate}",
        "ssl_options.verify = verify_peer",
        "ssl_options.fail_if_no_peer_cert = true",
        "ssl_options.versions.1 = tlsv1.3",
        "auth_mechanisms.1 = PLAIN",
        "auth_mechanisms.2 = EXTERNAL",
        "ssl_cert_login_from = common_name",
        f"log.dir = {folder}",
    ]
    config.write_text("\n".join(lines))
    found = Running(folder, "--log-level", "info", config=config)
    found.ctl("add_user", "machine", "")
    found.ctl("set_permissions", "machine", ".*", ".*", ".*")
    yield found
    found.stop()


@pytest.fixture
def logged(running):
    """Return a function that returns the lines logged since the test began, after the one that it begins with."""
    path = running.folder / "test@here.log"
    start = path.stat().st_size

    def logged() -> list[str]:
        return path.read_text()[start:].splitlines()

    return logged


def options(running, authority, pair: Pair | None, **more) -> Options:
    identity = {} if pair is None else {"cert_file": str(pair.certificate), "key_file": str(pair.key)}
    tls = Tls(ca_file=str(authority.certificate), **identity)
    more = {"auth_mechanism": "EXTERNAL", "recovery": False, **more}
    return Options(addresses=(Address("127.0.0.1", port_of(running)),), tls=tls, **more)


def test_a_user_without_password_publishes_and_reads(running, authority, logged):
    pair = authority.client("machine", "machine")
    with Connection(options(running, authority, pair)) as connection:
        channel = connection.channel()
        channel.confirm_select()
        channel.queue_declare("q", exclusive=True)
        channel.basic_publish("", "q", b"body")
        channel.wait_for_confirms()
        assert channel.basic_get("q", no_ack=True).body == b"body"
        columns = "user", "auth_mechanism", "ssl", "ssl_protocol", "peer_cert_subject", "peer_cert_issuer"
        [row] = json.loads(running.ctl("list_connections", *columns, "--formatter", "json", "-q"))
        assert row == {
            "user": "machine",
            "auth_mechanism": "EXTERNAL",
            "ssl": True,
            "ssl_protocol": "tlsv1.3",
            "peer_cert_subject": "CN=machine",
            "peer_cert_issuer": "CN=pybroker test authority",
        }
    assert any("user 'machine' authenticated and granted access to vhost '/'" in line for line in logged())


def refused(running, authority, pair: Pair | None, logged) -> tuple[str, list[str]]:
    """Return what a client learns, and the warnings and errors that were logged."""
    with pytest.raises((AuthenticationFailed, ConnectFailed)) as error:
        Connection(options(running, authority, pair))
    deadline = time.monotonic() + 10
    while not (lines := [line for line in logged() if "[error]" in line or "[warning]" in line]):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return str(error.value), lines


def test_a_name_that_no_user_has_is_refused_with_one_line(running, authority, logged):
    told, lines = refused(running, authority, authority.client("nobody", "no\nbody"), logged)
    assert "Login was refused using authentication mechanism EXTERNAL" in told
    [line] = lines
    assert "EXTERNAL login refused: user 'no\\nbody' - invalid credentials" in line
    audited = running.ctl("audit", "--event", "user.authentication.failure", "--formatter", "json")
    assert r"CN=no\\0Abody" in audited


def test_an_expired_certificate_is_refused_with_one_line(running, authority, logged):
    told, lines = refused(running, authority, authority.client("expired", ends=-DAY), logged)
    assert "refuses the certificate in cert_file: SSLV3_ALERT_CERTIFICATE_EXPIRED" in told
    [line] = lines
    assert "the client's certificate is not trusted: certificate has expired" in line


def test_a_certificate_of_another_authority_is_refused_with_one_line(running, authority, tmp_path, logged):
    told, lines = refused(running, authority, Authority(tmp_path).client(), logged)
    assert "the broker refuses the certificate in cert_file" in told
    [line] = lines
    assert "the client's certificate is not trusted: " in line


def test_no_certificate_is_refused_with_one_line(running, authority, logged):
    told, lines = refused(running, authority, None, logged)
    assert "requires a client certificate" in told
    [line] = lines
    assert "the client sent no certificate" in line


def test_commands_and_alarms_know_the_certificates(running):
    assert running.ctl("tls_versions", "-q") == "tlsv1.3\n"
    check = ("check_certificate_expiration", "-q", "--within", "1", "--unit")
    assert running.ctl(*check, "weeks") == "No certificates are expiring within 1 week.\n"
    assert "server.pem: CN=localhost expires on " in running.ctl(*check, "months", expected=69)
    assert "server.pem expires in less than 30 days" in running.ctl("alarms")

"""The log of a real daemon: events with their ids and fields, and none of the secrets it was given."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pika
import pytest
from pika.exceptions import AMQPError

from tests.certificates import Authority
from tests.daemon.running import BASE, Running

# Each in a place of its own, so that a finding says where it came from.
SECRETS = {
    name: f"s3cr3t-{name}-Qx"
    for name in (
        *("default", "seeded", "added", "changed", "asked", "wrong", "right", "unknown", "amqplain", "garbled"),
        *("updated", "parameter", "global", "imported", "hashed", "uri", "early", "key", "wrong_key"),
    )
}


class Response:
    """Credentials that answer any mechanism with the octets they were given."""

    erase_on_connect = False

    def __init__(self, mechanism, octets):
        self.TYPE, self.octets = mechanism, octets

    def response_for(self, _start):
        return self.TYPE, self.octets

    def erase_credentials(self):
        """Keep them: the test compares them."""


def connect(daemon, user, password, name=""):
    return login(daemon, pika.PlainCredentials(user, password), name)


def login(daemon, credentials, name=""):
    properties = {"connection_name": name} if name else {}
    parameters = pika.ConnectionParameters("127.0.0.1", daemon.port, client_properties=properties)
    parameters._credentials = credentials
    return pika.BlockingConnection(parameters)


@pytest.fixture
def run(tmp_path):
    """Start a daemon that logs all it can: JSON into a file, text to standard error. None outlives the test."""
    started = []

    def run(lines="", *options):
        config = tmp_path / "pybroker.conf"
        config.write_text(
            "log.file.formatter = json\nlog.file.level = debug\n"
            f"log.console = true\nlog.console.level = debug\nlog.console.stdio = stderr\n{lines}"
        )
        errors = (tmp_path / "stderr").open("ab")
        started.append(Running(tmp_path, *(options or BASE), config=config, stderr=errors))
        return started[-1]

    yield run
    for daemon in started:
        if daemon.process.poll() is None:
            daemon.process.kill()
            daemon.process.communicate()


def events(daemon, id_):
    return [line for line in map(json.loads, daemon.log.splitlines()) if line["event"] == id_]


def test_lines_of_a_connection_have_its_name_user_and_virtual_host(run):
    daemon = run()
    connection = connect(daemon, "guest", "guest", "billing")
    with pytest.raises(AMQPError):
        connection.channel().queue_declare("none", passive=True)
    connection.close()
    with pytest.raises(AMQPError):
        connect(daemon, "guest", "wrong", "billing")
    daemon.wait_for_log('"login.refused"')
    (opened,) = events(daemon, "connection.opened")
    names = {key: opened[key] for key in ("connection", "connection_pid", "client_name", "user", "vhost", "node")}
    assert ("billing", "guest", "/", "test@here") == tuple(
        names[key] for key in ("client_name", "user", "vhost", "node")
    )
    (failed,) = events(daemon, "channel.error")
    assert {**names, "channel": 1, "reply_code": 404, "level": "error"}.items() <= failed.items()
    (closed,) = events(daemon, "connection.closed")
    assert names.items() <= closed.items()
    (refused,) = events(daemon, "login.refused")
    assert {"client_name": "billing", "user": "guest", "level": "error"}.items() <= refused.items()
    (starting,) = events(daemon, "node.starting")
    assert "\n data dir" in starting["msg"]


def test_every_line_of_a_run_has_an_id(run):
    daemon = run()
    connect(daemon, "guest", "guest").close()
    daemon.ctl("set_vm_memory_high_watermark", "0")
    daemon.ctl("rotate_logs")
    daemon.stop()
    lines = [json.loads(line) for line in daemon.log.splitlines()]
    assert len(lines) > 10
    assert [] == [line for line in lines if not line["event"]]


def refused(daemon, credentials):
    try:
        login(daemon, credentials).close()
    except AMQPError:
        return True
    return False


def use_secrets(daemon, tmp_path):
    """Give the daemon each secret in the ways there are."""
    s = SECRETS
    daemon.ctl("add_user", "ann", s["added"])
    daemon.ctl("change_password", "ann", s["changed"])
    daemon.ctl("authenticate_user", "ann", s["asked"], expected=65)
    daemon.ctl("hash_password", s["hashed"])
    daemon.ctl("add_user", "ann", s["added"], expected=70)
    daemon.ctl("set_permissions", "ann", ".*", ".*", ".*")
    uri = f"amqp://ann:{s['uri']}@there"
    value = json.dumps({"uri": uri, "note": s["parameter"]})
    daemon.ctl("set_parameter", "federation-upstream", "up", value, expected=69)
    daemon.ctl("set_global_parameter", "mine", json.dumps({"uri": uri, "note": s["global"]}))
    definitions = tmp_path / "imported.json"
    definitions.write_text(json.dumps({"users": [{"name": "bob", "password": s["imported"], "tags": ""}]}))
    daemon.ctl("import_definitions", str(definitions))
    connection = connect(daemon, "ann", s["changed"])
    connection.update_secret(s["updated"], "it expired")
    connection.close()
    table = b"\x05LOGINS\0\0\0\x03ann\x08PASSWORDS" + len(s["amqplain"]).to_bytes(4, "big") + s["amqplain"].encode()
    answers = [
        pika.PlainCredentials("ann", s["wrong"]),
        pika.PlainCredentials("nobody", s["unknown"]),
        Response("PLAIN", f"ann\0{s['garbled']}".encode()),
        Response("PLAIN", s["garbled"].encode()),
        Response("AMQPLAIN", table),
        Response("AMQPLAIN", table[:-1]),
        Response("EXTERNAL", s["garbled"].encode()),
    ]
    with ThreadPoolExecutor(len(answers)) as pool:
        assert all(pool.map(lambda answer: refused(daemon, answer), answers)), "the broker lets each wait"
    for early in (s["early"], f"AMQP\0\0\x09\x01{s['early']}", f"ann\0{s['early']}"):
        with socket.create_connection(("127.0.0.1", daemon.port)) as peer:
            peer.sendall(early.encode())
            peer.shutdown(socket.SHUT_WR)
            while peer.recv(4_096):
                pass


def places_with_a_secret(run):
    """Return where the daemon has written which secret: its logs, and both of its standard streams."""
    places = [*(run.folder / "data/log").iterdir(), run.folder / "stderr"]
    said = {path.name: path.read_text() for path in places} | {"stdout": "".join(run.said)}
    return [(place, name) for place, text in said.items() for name, secret in SECRETS.items() if secret in text]


def tls_lines(folder, password):
    """Return the lines that open a listener for TLS; the password of its key is the secret named `key`."""
    pair = Authority(folder).server(password=SECRETS["key"])
    return (
        f"listeners.ssl.default = 127.0.0.1:0\nssl_options.certfile = {pair.certificate}\n"
        f"ssl_options.keyfile = {pair.key}\nssl_options.password = {password}\n"
    )


def test_no_secret_is_ever_logged(run, tmp_path):
    seeded = tmp_path / "seeded.json"
    users = [{"name": "eve", "password": SECRETS["seeded"], "tags": "administrator"}]
    seeded.write_text(json.dumps({"users": users, "vhosts": [{"name": "/"}], "permissions": []}))
    lines = f"default_pass = {SECRETS['default']}\nload_definitions = {seeded}\n"
    daemon = run(lines + tls_lines(tmp_path, SECRETS["key"]))
    use_secrets(daemon, tmp_path)
    daemon.ctl("environment")
    daemon.stop()
    assert (3, 5) == (len(events(daemon, "login.refused")), len(events(daemon, "connection.error")))
    assert 6 <= len(events(daemon, "control.command"))
    assert [] == places_with_a_secret(daemon)


def test_a_password_that_does_not_open_a_key_is_not_logged(run, tmp_path):
    daemon = run(tls_lines(tmp_path, SECRETS["wrong_key"]))
    assert not daemon.serves
    daemon.ended()
    assert "does not open the key" in (tmp_path / "stderr").read_text()
    assert [] == places_with_a_secret(daemon)

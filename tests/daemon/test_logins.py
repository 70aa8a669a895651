"""Passwords on a real daemon: made by its commands, checked in its thread, there again after a restart."""

import json
import time
from base64 import b64encode
from hashlib import md5, sha512

import pika
import pytest
from pika.exceptions import AMQPConnectionError

from tests.daemon.fork_server import REFUSAL_MS
from tests.daemon.running import Running


@pytest.fixture
def start(tmp_path):
    """Start a daemon on one folder; none outlives the test."""
    started = []

    def start(*options: str) -> Running:
        started.append(Running(tmp_path, *options))
        return started[-1]

    yield start
    for daemon in started:
        if daemon.process.poll() is None:
            daemon.process.kill()
            daemon.process.communicate()


def login(daemon: Running, user: str, password: str) -> str:
    """Return what comes of a login: `in`, or the text of the refusal."""
    credentials = pika.PlainCredentials(user, password)
    try:
        pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", daemon.port, credentials=credentials)).close()
    except AMQPConnectionError as error:
        return str(error)
    return "in"


def exported_algorithms(daemon: Running) -> dict[str, str]:
    """Return which hash each user has; what is warned of stands behind the document."""
    document, _ = json.JSONDecoder().raw_decode(daemon.ctl("export_definitions", "-"))
    return {user["name"]: user["hashing_algorithm"] for user in document["users"]}


def test_users_of_all_hashes_log_in_also_after_a_restart(start):
    daemon = start()
    hashes = {"sha512": sha512, "md5": md5}
    for name, digest in hashes.items():
        hashed = b64encode(b"salt" + digest(b"saltright").digest()).decode()
        daemon.ctl("add_user", name, hashed, "--pre-hashed-password")
    daemon.ctl("add_user", "argon", "right")
    daemon.ctl("change_password", "sha512", "right")
    daemon.ctl("set_user_limits", "md5", '{"max-connections": 0}')
    for name in ("sha512", "md5", "argon"):
        daemon.ctl("set_permissions", name, "", "", "")
    algorithms = exported_algorithms(daemon)
    daemon.signal(15)
    assert daemon.ended() == (0, "")
    # A changed password is hashed as a new one is.
    assert algorithms == {
        "guest": "rabbit_password_hashing_sha256",
        "sha512": "argon2id",
        "md5": "rabbit_password_hashing_md5",
        "argon": "argon2id",
    }
    daemon = start()
    assert [login(daemon, name, "right") for name in ("argon", "sha512", "argon")] == ["in"] * 3
    assert "user connection limit (0) is reached" in login(daemon, "md5", "right")
    assert daemon.ctl("authenticate_user", "md5", "right", "-q") == "Success\n"
    assert "invalid credentials" in daemon.ctl("authenticate_user", "argon", "wrong", expected=65)
    began = time.monotonic()
    assert "403" in login(daemon, "argon", "wrong")
    # Only that it is late: how much is the loop's business.
    assert time.monotonic() - began >= REFUSAL_MS[0] / 1000
    daemon.signal(15)
    assert daemon.ended() == (0, "")
    assert "is stored as an MD5 hash" in daemon.log


def test_the_hash_of_new_passwords_is_configured(start, tmp_path):
    config = tmp_path / "pybroker.conf"
    config.write_text("password_hashing_module = rabbit_password_hashing_sha512\n")
    daemon = start("--port", "0", "--bind", "127.0.0.1", "--node", "test@here", "--config", str(config))
    daemon.ctl("add_user", "u", "right")
    assert set(exported_algorithms(daemon).values()) == {"rabbit_password_hashing_sha512"}
    daemon.ctl("authenticate_user", "u", "right")
    daemon.signal(15)
    assert daemon.ended() == (0, "")

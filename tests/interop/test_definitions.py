"""Definitions there and back: a real RabbitMQ 3.10.8 is set up, moved in here unchanged, and moved back.

Wants INTEROP_CTL, a rabbitmqctl that finds the RabbitMQ, and INTEROP_PORT, where that listens; its data is lost. An
export of RabbitMQ is kept in tests/core/transfer, so that CI tests as much without one.
"""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pika
import pytest

from tests.daemon.running import Running

CTL, PORT = os.environ.get("INTEROP_CTL"), os.environ.get("INTEROP_PORT")
HASHING = "password_hashing_module = rabbit_password_hashing_sha256"
GOLDEN = Path(__file__).parents[1] / "core/transfer/rabbitmq-3.10.8.json"
PASSWORDS = {"sha256": "secret-256", "sha512": "secret-512", "md5": "secret-md5", "ctl": "by rabbitmqctl"}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CTL and PORT), reason="INTEROP_CTL and INTEROP_PORT name no RabbitMQ"),
]

COMMANDS = [
    ("add_user", "ctl", "by rabbitmqctl"),
    ("set_user_tags", "ctl", "monitoring", "own-tag"),
    ("set_permissions", "-p", "/", "ctl", ".*", ".*", ".*"),
    ("set_permissions", "-p", "shop", "ctl", "^a", "b$", ""),
    ("set_topic_permissions", "-p", "/", "ctl", "amq.topic", "^{username}", "^{vhost}"),
    ("set_user_limits", "ctl", '{"max-connections": 5, "max-channels": -1}'),
    ("set_vhost_limits", "-p", "/", '{"max-queues": 500}'),
    ("set_policy", "-p", "/", "--priority", "4", "--apply-to", "queues", "ctl", "^c", '{"message-ttl": 100000}'),
    ("set_operator_policy", "-p", "/", "--priority", "2", "cap", "^c", '{"max-length": 100, "expires": 7000000}'),
    ("set_global_parameter", "ctl", '{"a": [1, "b"], "c": {"d": true}}'),
    ("set_cluster_name", "from rabbitmq"),
]
# Numbers as a client sends them, which are others than an import makes.
ARGUMENTS = {
    "x-expires": 3_600_000,
    "x-message-ttl": 60_000,
    "x-dead-letter-exchange": "d",
    "x-dead-letter-routing-key": "k",
    "x-max-length": 1_000,
    "x-max-length-bytes": 1 << 40,
    "x-max-priority": 5,
    "x-overflow": "reject-publish",
    "x-queue-mode": "lazy",
    "x-single-active-consumer": True,
    "x-own": {"list": [1, "a", {"b": True}], "big": 1 << 50},
}


def rabbitmqctl(*words: str) -> None:
    done = subprocess.run([str(CTL), *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"


def reset() -> None:
    for word in ("stop_app", "reset", "start_app"):
        rabbitmqctl(word)


def exported(path: Path) -> dict[str, Any]:
    rabbitmqctl("export_definitions", str(path))
    return json.loads(path.read_text())


def normal(document: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the sections without versions, and without what is about internal exchanges, which RabbitMQ loses."""
    inner = {each["name"] for each in document["exchanges"] if each.get("internal")} | {"inner"}
    found = {name: items for name, items in document.items() if isinstance(items, list)}
    for each in found["parameters"]:
        # RabbitMQ writes pairs of what rabbitmqctl has set, an object of what was imported.
        if each["component"] == "operator_policy":
            each["value"]["definition"] = dict(each["value"]["definition"])
    found["exchanges"] = [each for each in found["exchanges"] if not each.get("internal")]
    found["bindings"] = [each for each in found["bindings"] if not {each["source"], each["destination"]} & inner]
    return {name: sorted(items, key=lambda item: json.dumps(item, sort_keys=True)) for name, items in found.items()}


def declare(channel: Any) -> None:
    channel.queue_declare("every-argument", durable=True, arguments=ARGUMENTS)
    channel.queue_declare("quorum", durable=True, arguments={"x-queue-type": "quorum", "x-delivery-limit": 4})
    channel.queue_declare("transient")
    for kind in ("direct", "fanout", "topic", "headers"):
        arguments = {"alternate-exchange": "d"} if kind == "topic" else {}
        channel.exchange_declare(
            kind, kind, durable=kind != "fanout", auto_delete=kind == "headers", arguments=arguments
        )
        channel.queue_bind("every-argument", kind, "key", {"x-match": "any", "n": 5, "big": 1 << 40, "s": "x"})
    channel.exchange_bind("topic", "direct", "e2e", {"why": "because"})


@pytest.fixture(scope="module")
def rabbitmq(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Set RabbitMQ up; return what it exports."""
    reset()
    rabbitmqctl("import_definitions", str(GOLDEN))
    for command in COMMANDS:
        rabbitmqctl(*command)
    with pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", int(PORT or 0))) as connection:
        declare(connection.channel())
        return exported(tmp_path_factory.mktemp("rabbitmq") / "d.json")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory):
    running = Running(tmp_path_factory.mktemp("node"))
    yield running
    running.stop()


def test_it_moves_in_unchanged_and_back(rabbitmq, node, tmp_path):
    theirs, ours = tmp_path / "theirs.json", tmp_path / "ours.json"
    theirs.write_text(json.dumps(rabbitmq))
    node.ctl("import_definitions", str(theirs))
    assert "Nothing to do" in node.ctl("definitions", "plan", str(theirs))
    node.ctl("export_definitions", str(ours))
    assert normal(rabbitmq) == normal(json.loads(ours.read_text()))
    assert node.ctl("definitions", "plan", str(ours)).endswith("\nNothing to do\n")
    for user, password in PASSWORDS.items():
        credentials = pika.PlainCredentials(user, password)
        parameters = pika.ConnectionParameters("127.0.0.1", node.port, "/", credentials)
        pika.BlockingConnection(parameters).close()
        wrong = pika.ConnectionParameters("127.0.0.1", node.port, "/", pika.PlainCredentials(user, "wrong"))
        with pytest.raises(pika.exceptions.ProbableAuthenticationError):
            pika.BlockingConnection(wrong)
    with pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", node.port)) as connection:
        # A client declares the same again as it declared there.
        declare(connection.channel())
    reset()
    rabbitmqctl("import_definitions", str(ours))
    # Its import goes on when its command has ended.
    deadline = time.monotonic() + 30
    back = exported(tmp_path / "back.json")
    while normal(back) != normal(rabbitmq) and time.monotonic() < deadline:
        time.sleep(1)
        back = exported(tmp_path / "back.json")
    assert normal(rabbitmq) == normal(back)


def test_with_rabbitmqs_hashes_new_users_can_move_back(tmp_path):
    config, ours = tmp_path / "pybroker.conf", tmp_path / "ours.json"
    config.write_text(
        f"listeners.tcp.local = 127.0.0.1:0\nstream.listeners.tcp = none\nnode.name = test@here\n{HASHING}\n"
    )
    node = Running(tmp_path, "--config", str(config))
    try:
        node.ctl("add_user", "mover", "s3cret")
        node.ctl("set_permissions", "mover", ".*", ".*", ".*")
        assert "could not log in" not in node.ctl("export_definitions", str(ours))
    finally:
        node.stop()
    rabbitmqctl("import_definitions", str(ours))
    parameters = pika.ConnectionParameters("127.0.0.1", int(PORT or 0), "/", pika.PlainCredentials("mover", "s3cret"))
    pika.BlockingConnection(parameters).close()

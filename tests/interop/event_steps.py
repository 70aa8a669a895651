"""Steps that make each event of amq.rabbitmq.event happen, on pybroker or on RabbitMQ, and the listener that hears
them.

`record` does all steps and returns what was told: by event the headers' names and AMQP types. The file
`event_headers.json` is what RabbitMQ 3.10.8 with rabbitmq_event_exchange tells; `python -m tests.interop.event_steps
PORT RABBITMQCTL` prints it again.
"""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from queue import Empty, Queue

import pika
from pika.exceptions import AMQPError

from pybroker.client import Message, Properties, connect

Ctl = Callable[..., str]
# How long nothing must come: RabbitMQ's events have a process of their own, and its commands another node.
QUIET_S = 1.0

USERS = [
    ("add_user", "ann", "first"),
    ("set_user_tags", "ann", "monitoring", "policymaker"),
    ("change_password", "ann", "second"),
    ("clear_password", "ann"),
    ("set_permissions", "-p", "/", "ann", "c.*", "w.*", "r.*"),
    ("clear_permissions", "-p", "/", "ann"),
    ("set_topic_permissions", "-p", "/", "ann", "amq.topic", "w", "r"),
    ("clear_topic_permissions", "-p", "/", "ann", "amq.topic"),
    ("set_topic_permissions", "-p", "/", "ann", "amq.topic", "w", "r"),
    ("clear_topic_permissions", "-p", "/", "ann"),
    ("set_user_limits", "ann", '{"max-connections": 5, "max-channels": 7}'),
    ("clear_user_limits", "ann", "max-connections"),
    ("delete_user", "ann"),
]
VHOSTS = [
    ("add_vhost", "v", "--description", "a virtual host", "--tags", "one,two"),
    ("set_vhost_limits", "-p", "v", '{"max-connections": 5}'),
    ("clear_vhost_limits", "-p", "v"),
    ("set_permissions", "-p", "v", "guest", ".*", ".*", ".*"),
]
PARAMETERS = [
    ("set_policy", "-p", "/", "--priority", "3", "--apply-to", "queues", "pol", "^kept", '{"max-length": 10}'),
    ("clear_policy", "-p", "/", "pol"),
    ("set_operator_policy", "-p", "/", "opol", "^kept", '{"max-length": 10}'),
    ("clear_operator_policy", "-p", "/", "opol"),
    ("set_global_parameter", "color", '{"name": "red", "deep": [1, 2]}'),
    ("clear_global_parameter", "color"),
]
ALARMS = [("set_vm_memory_high_watermark", "0.00001"), ("set_vm_memory_high_watermark", "0.4")]


class Listener:
    """A queue bound to the event exchange. It reads on its own connection, whose own events are told as well."""

    def __init__(self, port: int, quiet_s: float) -> None:
        self._quiet_s = quiet_s
        self._told: Queue[Message] = Queue()
        self.connection = connect(f"amqp://guest:guest@127.0.0.1:{port}/")
        channel = self.connection.channel()
        channel.queue_declare("told", exclusive=True)
        channel.queue_bind("told", "amq.rabbitmq.event", "#")
        channel.basic_consume("told", self._told.put, no_ack=True)

    def told(self) -> list[Message]:
        """Return what was told, up to some silence."""
        found = []
        with contextlib.suppress(Empty):
            while True:
                found.append(self._told.get(timeout=self._quiet_s))
        return found

    def close(self) -> None:
        self.connection.close()


def open_pika(port: int, vhost: str = "/", password: str = "guest", **more: object) -> pika.BlockingConnection:
    credentials = pika.PlainCredentials("guest", password)
    return pika.BlockingConnection(
        pika.ConnectionParameters("127.0.0.1", port, vhost, credentials, connection_attempts=1, **more)
    )


def use(port: int) -> None:
    """Do what a client can do that makes events."""
    connection = open_pika(port, client_properties={"connection_name": "the steps"})
    channel = connection.channel()
    channel.exchange_declare("x", "fanout")
    channel.exchange_declare("y", "topic", durable=True, arguments={"alternate-exchange": "x"})
    channel.exchange_declare("z", "fanout", auto_delete=True)
    channel.queue_declare("q")
    channel.queue_declare("long", durable=True, arguments={"x-max-length": 5, "x-dead-letter-exchange": "x"})
    channel.queue_declare("own", exclusive=True)
    channel.queue_declare("auto", auto_delete=True)
    channel.queue_declare("short", arguments={"x-expires": 100})
    channel.queue_bind("q", "x")
    channel.queue_bind("q", "y", "k.*", {"n": 1, "s": "text"})
    channel.queue_bind("long", "z")
    channel.exchange_bind("x", "y", "e2e")
    channel.exchange_unbind("x", "y", "e2e")
    channel.queue_unbind("q", "y", "k.*", {"n": 1, "s": "text"})
    channel.queue_unbind("long", "z")
    channel.basic_qos(prefetch_count=9)
    channel.basic_consume("q", print, consumer_tag="c1", arguments={"x-priority": 2})
    channel.basic_consume("q", print, consumer_tag="c2", auto_ack=True)
    channel.basic_cancel("c1")
    channel.basic_consume("auto", print, consumer_tag="c3", exclusive=True)
    channel.basic_cancel("c3")
    channel.basic_consume("long", print, consumer_tag="c4")
    channel.queue_delete("long")
    channel.exchange_delete("x")
    channel.exchange_delete("y")
    other = connection.channel()
    other.basic_consume("q", print, consumer_tag="c5")
    other.close()
    connection.close()
    connection = open_pika(port)
    connection.channel().queue_delete("q")
    connection.close()
    with contextlib.suppress(AMQPError):
        open_pika(port, password="wrong")
    time.sleep(0.5)


def in_vhost(port: int) -> None:
    """Leave something in the virtual host that is deleted then."""
    connection = open_pika(port, "v")
    channel = connection.channel()
    channel.queue_declare("left", durable=True)
    channel.queue_bind("left", "amq.topic", "k")
    connection.close()


def steps(port: int, ctl: Ctl) -> list[Callable[[], object]]:
    """Return everything that is to be done, in its order."""

    def run(commands: list[tuple[str, ...]]) -> Callable[[], object]:
        return lambda: [ctl(*command) for command in commands]

    delete = [("delete_vhost", "v")]
    keep = open_pika(port)
    keep.channel().queue_declare("kept", exclusive=True)
    return [
        lambda: use(port),
        run(USERS),
        run(VHOSTS),
        lambda: in_vhost(port),
        run(delete),
        run(PARAMETERS),
        run(ALARMS),
        keep.close,
    ]


def record(port: int, ctl: Ctl, quiet_s: float = QUIET_S) -> list[tuple[str, Properties]]:
    """Do all steps; return the events in their order."""
    listener = Listener(port, quiet_s)
    told = []
    try:
        for step in steps(port, ctl):
            step()
            told += listener.told()
    finally:
        listener.close()
    return [(message.routing_key, message.properties) for message in told]


def header_types(told: list[tuple[str, Properties]]) -> dict[str, list[dict[str, str]]]:
    """Return the different sets of headers that each event has, by name and type."""
    kinds: dict[str, list[dict[str, str]]] = {}
    for event, properties in told:
        assert properties.headers is not None
        headers = properties.headers
        kind = {key: headers.type_of(key) for key in sorted(headers)}
        kinds.setdefault(event, [])
        if kind not in kinds[event]:
            kinds[event].append(kind)
    return {event: kinds[event] for event in sorted(kinds)}


if __name__ == "__main__":

    def rabbitmqctl(*words: str) -> str:
        return subprocess.run([sys.argv[2], *words], check=True, capture_output=True, text=True).stdout

    found = record(int(sys.argv[1]), rabbitmqctl)
    if len(sys.argv) > 3:
        for event, properties in found:
            print(event, properties)
    else:
        print(json.dumps(header_types(found), indent=1))

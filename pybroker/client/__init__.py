"""A client library for AMQP 0-9-1 brokers, on plain threads: pybroker, RabbitMQ and others.

    from pybroker.client import Properties, connect

    with connect("amqp://guest:guest@localhost/") as connection:
        channel = connection.channel()
        channel.queue_declare("orders", durable=True)
        channel.confirm_select()
        channel.publish_and_wait("", "orders", b"two of them", Properties(delivery_mode=2))

A program that consumes gives a callback, and waits while it works:

    from pybroker.client import connect

    def on_message(message):
        print(message.body)
        message.ack()

    with connect("amqp://guest:guest@localhost/") as connection:
        channel = connection.channel()
        channel.queue_declare("orders", durable=True)
        channel.basic_qos(50)
        channel.basic_consume("orders", on_message)
        connection.wait_until_closed()  # Ctrl-C ends it, and so does connection.close() in a callback

The threading model is that of RabbitMQ's Java client:

- a connection has one thread that reads, and one that sends what was gathered; neither ever runs your code;
- callbacks run on an executor, given or made; at most one at a time for each channel and in order, those of different
  channels beside each other: parallelism is min(channels, threads);
- one synchronous method is in flight per channel, everything may be called from callbacks, every wait has a time-out;
- a lost connection comes back by itself, after five seconds, with channels, exchanges, queues, bindings and consumers.
  A publish that was not confirmed is not sent again: it fails with PublishUnconfirmed, and you decide.

Use one channel for each thread that publishes, other connections for publishing than for consuming (a blocked
publisher's acknowledgements are not read either), and a prefetch (`basic_qos`).
"""

import ssl
from concurrent.futures import Executor

from pybroker.client.channel.channel import Channel
from pybroker.client.channel.confirms import Confirmation
from pybroker.client.channel.declaring import DeclareOk
from pybroker.client.connection.connection import Connection
from pybroker.client.connection.listeners import OnError
from pybroker.client.message import Message, ReturnedMessage
from pybroker.client.options import Address, Options, Tls
from pybroker.client.uri import parse_uri
from pybroker.wire.properties import Properties
from pybroker.wire.table import Table

__all__ = [
    "Address",
    "Channel",
    "Confirmation",
    "Connection",
    "DeclareOk",
    "Message",
    "Options",
    "Properties",
    "ReturnedMessage",
    "Table",
    "Tls",
    "connect",
    "parse_uri",
]


def connect(
    where: str | Options = "amqp://localhost",
    *more: str,
    executor: Executor | None = None,
    ssl_context: ssl.SSLContext | None = None,
    on_error: OnError | None = None,
) -> Connection:
    """Return an open connection to the first of several brokers that answers: URIs, or options.

    Callbacks run on `executor`, by default on one of the connection's own with max(1, cpus) threads. `ssl_context` is
    used instead of what the options say about TLS. `on_error(channel, error, argument)` gets what callbacks raise.

    >>> connection = connect("amqps://me:secret@one/orders?heartbeat=10", "amqps://two/")  # doctest: +SKIP

    Raises AuthenticationFailed; ConnectFailed, a ConnectionError that tells what is wrong with each address; AmqpError,
    e.g. NotAllowed (530) for a virtual host that is not there; ValueError for a URI that makes no sense. They and all
    others are in `pybroker.client.errors`.
    """
    options = parse_uri(where, *more) if isinstance(where, str) else where
    return Connection(options, executor=executor, ssl_context=ssl_context, on_error=on_error)

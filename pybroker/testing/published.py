"""Messages that were published to the exchanges of a virtual host, as its firehose tells them.

The firehose copies each publish to a queue in the virtual host, where it changes neither routes nor counts of others.
`Recorder.collect` reads there what has come since it did so last. A message whose publisher has got a confirm, or an
answer to anything after it, is there.
"""

import binascii
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pybroker.testing.broker import Broker

# The queue, and the policies that keep others from it.
NAME: Final = "pybroker.testing"
TRACE_EXCHANGE: Final = "amq.rabbitmq.trace"
# More are not kept for a test that publishes very much: the oldest go.
MESSAGES_MAX: Final = 100_000
OCTETS_MAX: Final = 256 << 20
# In failures.
SHOWN_MAX: Final = 20
BODY_CHARACTERS_SHOWN: Final = 60


@dataclass(frozen=True)
class Published:
    """A message that was published: where to, what it was, and the names of the queues that it was routed to.

    `routing_keys` has those of the headers CC and BCC as well; `properties` has those that are set, by name, as JSON
    has them: octets in headers are text.
    """

    exchange: str
    routing_keys: Sequence[str]
    body: bytes
    properties: dict[str, Any]
    queues: Sequence[str]
    connection: str

    @property
    def routing_key(self) -> str:
        """Return the routing key that it was published with."""
        return self.routing_keys[0]

    @property
    def headers(self) -> dict[str, Any]:
        """Return its headers."""
        return dict(self.properties.get("headers") or {})

    @property
    def text(self) -> str:
        """Return its body as text."""
        return self.body.decode()

    def json(self) -> Any:
        """Return the value of its body, which is JSON."""
        return json.loads(self.body)

    def __str__(self) -> str:
        body = self.body.decode(errors="backslashreplace")
        if len(body) > BODY_CHARACTERS_SHOWN:
            body = f"{body[:BODY_CHARACTERS_SHOWN]}... ({len(self.body)} octets)"
        where = ", ".join(self.queues) or "no queue"
        return f"exchange {self.exchange!r}, key {self.routing_key!r}: {body!r} -> {where}"


def shown(messages: Sequence[Published]) -> str:
    """Return a line each, of very many only the last."""
    left_out = len(messages) - SHOWN_MAX
    lines = [f"  ({left_out} earlier ones)"] if left_out > 0 else []
    return "\n".join([*lines, *(f"  {message}" for message in messages[-SHOWN_MAX:])])


class Recorder:
    """All that was published in one virtual host since it was made; `messages` grows when it is collected."""

    def __init__(self, broker: "Broker", vhost: str) -> None:
        self.messages: list[Published] = []
        self._broker = broker
        self._vhost = vhost
        self._start = "head"
        self._lock = threading.Lock()

    def collect(self) -> list[Published]:
        """Read what has been published meanwhile; return all. Raises BrokerError."""
        with self._lock:
            documents = peek(self._broker, self._vhost, NAME, start=self._start)
            self.messages += map(_published, documents)
            if documents:
                self._start = str(documents[-1]["seq"] + 1)
        return self.messages

    def restart(self) -> None:
        """Go on with a queue that has lost what was in it: the broker has started again."""
        self._start = "head"


def peek(broker: "Broker", vhost: str, queue: str, **wish: Any) -> list[dict[str, Any]]:
    """Return the messages of a queue as documents of peek_messages, all by default. Raises BrokerError."""
    wish = {"number": MESSAGES_MAX, "format": "raw", **wish}
    rows = broker.request("peek_messages", vhost=vhost, queue=queue, **wish)
    return [row["value"] for row in rows]


def body_of(document: dict[str, Any]) -> bytes:
    """Return the body of a document of peek_messages in raw format."""
    return binascii.a2b_base64(document["body"])


def _published(document: dict[str, Any]) -> Published:
    """Return what a message of the firehose tells."""
    facts = document["headers"]
    return Published(
        facts["exchange_name"],
        tuple(facts["routing_keys"]),
        body_of(document),
        facts["properties"],
        tuple(facts["routed_queues"]),
        facts["connection"],
    )

"""A virtual host for one test, with a user of its own: its URI, what happened in it, and faults that reach it alone."""

import re
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import quote

from pybroker.testing.faults import Fault
from pybroker.testing.published import MESSAGES_MAX, NAME, OCTETS_MAX, TRACE_EXCHANGE, Published, Recorder, shown
from pybroker.testing.queue_view import QueueView, counts_of, shown as shown_queues
from pybroker.testing.strict import parse_checks
from pybroker.testing.waiting import wait_for
from pybroker.version import RABBITMQ_VERSION

if TYPE_CHECKING:
    from pybroker.testing.broker import Broker

PASSWORD: Final = "secret"  # noqa: S105 - of a user that is there for one test
# Above those of any application (AMQP's signed long).
PRIORITY: Final = 2**31 - 1
NACKING: Final = "pybroker.testing.nack"
ALL: Final = {"configure": ".*", "write": ".*", "read": ".*"}


class VirtualHost:
    """A virtual host named `name`; its user has the same name. Closed, it is gone with all that is in it."""

    def __init__(self, broker: "Broker", name: str) -> None:
        self.broker = broker
        self.name = name
        self.user = name
        self.faults: list[Fault] = []
        self.allowed: set[str] = set()  # what the strict mode overlooks
        self.unacknowledged: set[str] = set()  # queues of which it has told that messages were not acknowledged
        self._recorder = Recorder(broker, name)
        broker.request("import_definitions", document=_definitions(name))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<VirtualHost {self.uri}>"

    @property
    def uri(self) -> str:
        """Return the URI for clients: amqp://USER:PASSWORD@127.0.0.1:PORT/NAME."""
        name = quote(self.name, safe="")
        return f"amqp://{quote(self.user, safe='')}:{PASSWORD}@127.0.0.1:{self.port}/{name}"

    @property
    def port(self) -> int:
        """Return the port for clients."""
        return self.broker.port

    @property
    def password(self) -> str:
        """Return the password of its user."""
        return PASSWORD

    def close(self) -> None:
        """End all faults, and remove the virtual host and its user; its connections are closed."""
        self.end_faults()
        self.broker.forget(self)
        # It may have been killed by the test itself.
        self.broker.revive()
        self.broker.request("delete_vhost", vhost_name=self.name)
        self.broker.request("delete_user", username=self.user)

    def end_faults(self) -> None:
        """End all faults that have not ended, the last one first."""
        while self.faults:
            self.faults.pop().end()

    # -- what happened ------------------------------------------------------------------------------------------------

    def queue(self, name: str) -> QueueView:
        """Return a view of a queue, whether it is there or not."""
        return QueueView(self, name)

    @property
    def queues(self) -> list[str]:
        """Return the names of its queues."""
        return list(counts_of(self))

    @property
    def messages(self) -> list[Published]:
        """Return all that was published so far."""
        return list(self.collect())

    def connections(self) -> list[dict[str, Any]]:
        """Return the connections of clients to it, with columns of list_connections."""
        columns = ["pid", "name", "user_provided_name", "user", "vhost", "state", "peer_port", "channels"]
        rows = self.broker.request("list_connections", columns=[*columns, "client_properties", "connected_at"])
        return [row for row in rows if row["vhost"] == self.name]

    def published(
        self,
        exchange: str,
        routing_key: str | None = None,
        *,
        count: int | None = None,
        body: bytes | str | None = None,
        where: Callable[[Published], object] | None = None,
        timeout_s: float | None = None,
    ) -> list[Published]:
        """Return what was published to an exchange (`""` for the default one), the oldest first.

        Waits for at least one message that fits, or for `count` of them; `count=0` waits for nothing and finds that
        there is none yet. One fits if it has the routing key and the body, if given, and `where(message)` is true.
        Raises AssertionError, with what was published instead, after `timeout_s`, by default the broker's; at once if
        there are more than `count`.
        """
        __tracebackhide__ = True
        octets = body.encode() if isinstance(body, str) else body

        def fits(message: Published) -> bool:
            return (
                message.exchange == exchange
                and routing_key in {None, *message.routing_keys}
                and octets in {None, message.body}
                and (where is None or bool(where(message)))
            )

        least = 1 if count is None else count
        limit_s = self.broker.timeout_s if timeout_s is None else timeout_s
        found = wait_for(
            lambda: [message for message in self.collect() if fits(message)],
            lambda messages: len(messages) >= least,
            limit_s,
        )
        if len(found) < least or (count is not None and len(found) > count):
            asked = {"routing key": routing_key, "body": octets}
            told = "".join(f", {name} {value!r}" for name, value in asked.items() if value is not None)
            told += ", for which `where` is true" if where is not None else ""
            waited = f" within {limit_s:g} s" if len(found) < least else ""
            wanted = "at least 1 message" if count is None else f"{count} message{'s' * (count != 1)}"
            raise AssertionError(
                f"{wanted} to exchange {exchange!r}{told}: {len(found) or 'none'} published{waited}.\n{self.report()}"
            )
        return found

    def report(self) -> str:
        """Return what there is in the virtual host, for failures: messages that were published, and queues."""
        messages = self.collect()
        published = f"Published in this virtual host:\n{shown(messages) or '  nothing'}"
        return f"{published}\nQueues:\n{shown_queues(counts_of(self))}"

    def allow(self, *checks: str) -> None:
        """Have the strict mode overlook some of its checks from now on, in this virtual host. Raises ValueError."""
        self.allowed |= parse_checks(" ".join(checks))

    def collect(self) -> list[Published]:
        """Return what was published; while the broker is down, what was until it was killed or stopped."""
        return self._recorder.collect() if self.broker.running else self._recorder.messages

    # -- faults -------------------------------------------------------------------------------------------------------

    def drop_connections(self) -> int:
        """Reset its connections as a failing network does; return how many there were."""
        return self.broker.drop_connections({row["peer_port"] for row in self.connections()})

    def close_connections(self, reason: str = "closed by a test") -> None:
        """Close its connections in order: connection.close with 320 and the reason."""
        self.broker.request("close_all_connections", reason=reason, vhost=self.name)

    def nack_publishes(self, queue: str | None = None) -> Fault:
        """Refuse what is published to a queue, or to any: publishers with confirms get basic.nack.

        A message that no queue gets is confirmed as always.
        """
        pattern = "" if queue is None else f"^{re.escape(queue)}$"
        definition = '{"max-length":0,"overflow":"reject-publish"}'
        self.broker.request(
            "set_operator_policy",
            name=NACKING,
            pattern=pattern,
            definition=definition,
            priority=PRIORITY - 1,
            apply_to="queues",
            vhost=self.name,
        )
        return self._fault(
            "publishes are refused",
            lambda: self.broker.request("clear_operator_policy", name=NACKING, vhost=self.name),
        )

    def refuse_logins(self) -> Fault:
        """Refuse logins of its user: 403 ACCESS_REFUSED; connections that there are go on."""
        self.broker.request("clear_password", username=self.user)
        return self._fault(
            "logins are refused",
            lambda: self.broker.request("change_password", username=self.user, password=PASSWORD),
        )

    def latency(self, seconds: float) -> Fault:
        """Delay everything between all clients and the broker by so much in each direction."""
        return self._keep(self.broker.latency(seconds))

    def refuse_connections(self) -> Fault:
        """Refuse new connections (ECONNREFUSED)."""
        return self._keep(self.broker.refuse_connections())

    def block_publishers(self) -> Fault:
        """Raise the memory alarm: publishers get connection.blocked, and are not read any more."""
        return self._keep(self.broker.block_publishers())

    def kill(self) -> Fault:
        """Kill the broker; ending the fault starts it again with the data that it kept."""
        return self._keep(self.broker.kill())

    def shut_down(self) -> Fault:
        """Stop the broker in order; ending the fault starts it again with its data."""
        return self._keep(self.broker.shut_down())

    def restart(self) -> None:
        """Kill the broker and start it again at once."""
        self.broker.restart()

    def resume(self) -> None:
        """Go on recording: the broker has started again."""
        self._recorder.restart()
        self.broker.request("trace_on", vhost=self.name)

    def _fault(self, what: str, undo: Callable[[], object]) -> Fault:
        return self._keep(Fault(what, undo))

    def _keep(self, fault: Fault) -> Fault:
        self.faults.append(fault)
        return fault


def _definitions(name: str) -> list[list[Any]]:
    """Return the lines of import_definitions that make a virtual host: with its user, recorded, and both apart."""
    of_it = {"vhost": name}
    limits = {"max-length": MESSAGES_MAX, "max-length-bytes": OCTETS_MAX}
    # An application's policy, or that of a fault, must not reach what is recorded.
    policy = {"pattern": f"^{re.escape(NAME)}$", "definition": limits, "priority": PRIORITY, "apply-to": "queues"}
    queue = {"name": NAME, "durable": True, "auto_delete": False, "arguments": {"x-queue-type": "classic"}}
    binding = {"source": TRACE_EXCHANGE, "destination": NAME, "destination_type": "queue", "arguments": {}}
    operator = {"component": "operator_policy", "name": NAME, "value": policy}
    return [
        ["rabbitmq_version", RABBITMQ_VERSION],
        ["users", [{"name": name, "password": PASSWORD, "tags": ""}]],
        ["vhosts", [{"name": name, "tracing": True}]],
        ["permissions", [{"user": name, **of_it, **ALL}]],
        ["parameters", [{**operator, **of_it}]],
        ["policies", [{"name": NAME, **policy, **of_it}]],
        ["queues", [{**queue, **of_it}]],
        ["bindings", [{**binding, **of_it, "routing_key": "publish.#"}]],
    ]

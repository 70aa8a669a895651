"""Checks that all changes can be made on this node before any is made; RabbitMQ finds out half-way through.

Asks the same functions as the change itself; `document.py` knows the valid contents of an item.
"""

import binascii
from base64 import b64decode
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from pybroker.core.auth.access import RESERVED, check_link
from pybroker.core.auth.password import check_hash, password_fits
from pybroker.core.auth.permissions import PatternError, Permission, TopicPermission
from pybroker.core.auth.quota import QUEUES, checked_user_limits, vhost_limits
from pybroker.core.exchange import EXCHANGE_TYPES
from pybroker.core.policy.argument_values import DEAD_LETTER_EXCHANGE, QUEUE_TYPE, QUEUE_TYPES
from pybroker.core.policy.arguments import check_declare_arguments, check_queue_properties, check_stream_sizes
from pybroker.core.routing.exchange import ALTERNATE, Exchange
from pybroker.core.topology.exchange_declare import declare_default_exchanges
from pybroker.core.topology.vhost import VHost
from pybroker.core.transfer.document import LIMITS, Document, Item, Value
from pybroker.core.transfer.exported import POLICY, Present
from pybroker.core.transfer.fields import Fault, as_table
from pybroker.core.transfer.plan import CONFLICT, CREATE, SKIP, Change, compare
from pybroker.errors import AmqpError
from pybroker.wire.table import encode_table

if TYPE_CHECKING:
    from pybroker.core.broker import Broker
    from pybroker.wire.table import Table

# Sections whose items may be of a kind that is not built here: the rest of a document makes sense without them.
OPTIONAL: Final = frozenset({"exchanges", "queues", "bindings", "policies", "parameters"})
NO_INTERNAL: Final = "RabbitMQ does not export internal exchanges"


class Checker:
    """Goes through a document once. `changes` are those that can be made, `faults` why others cannot.

    `counts` has how many changes there are of each action. With `skip_unsupported` what cannot be made here is left
    out with a warning, and so are the bindings of that.
    """

    def __init__(self, broker: "Broker", document: Document, *, skip_unsupported: bool = False) -> None:
        self._skip_unsupported = skip_unsupported
        self._left_out: set[tuple[str, str, str]] = set()
        self._broker = broker
        self._document = document
        self._present = Present(broker)
        self._vhosts: dict[str, VHost] = {}
        self._sources: dict[tuple[str, str], Exchange] = {}
        self._new_queues: dict[str, int] = {}
        self.changes: list[Change] = []
        self.counts: dict[str, int] = {}
        self.faults: list[str] = list(document.faults)
        self.unsupported = 0  # of the faults: what could be left out
        self.warnings: dict[str, None] = dict(document.warnings)

    def run(self) -> Iterator[None]:
        """Look at each item in the order of the import; yield after each."""
        if self._document.vhost is not None and self._document.vhost not in self._broker.vhosts:
            text = f'Please create virtual host "{self._document.vhost}" prior to importing definitions.'
            self.faults.append(text)
            return
        for item in self._document:
            try:
                change = self._look(item)
            except Fault as fault:
                self._refuse(item, str(fault))
            except AmqpError as error:
                self._refuse(item, error.text)
            except ValueError as error:
                # A parameter's validation tells of itself in lines.
                self._refuse(item, " ".join(str(error).split()))
            else:
                if change is not None:
                    self._take(change)
            yield
        self._check_limits()

    def _refuse(self, item: Item, text: str) -> None:
        unsupported = item.section in OPTIONAL and self._has_owner(item)
        if unsupported and self._skip_unsupported:
            if item.section in {"exchanges", "queues"}:
                self._left_out.add((item.section, item.value["vhost"], item.value["name"]))
            self.warnings[f"{item.label} is skipped: {text}"] = None
            self._take(Change(SKIP, item, (), text))
        else:
            self.unsupported += unsupported
            self.faults.append(text if item.label in text else f"{item.label}: {text}")

    def _has_owner(self, item: Item) -> bool:
        try:
            self._check_owner(item)
        except Fault:
            return False
        return True

    def _take(self, change: Change) -> None:
        self.changes.append(change)
        self.counts[change.action] = self.counts.get(change.action, 0) + 1
        if change.action == CREATE and change.item.section == "queues":
            vhost = change.item.value["vhost"]
            self._new_queues[vhost] = self._new_queues.get(vhost, 0) + 1

    def _look(self, item: Item) -> Change | None:
        self._check_owner(item)
        reason = self._why_skipped(item)
        if reason:
            self.warnings[f"{item.label} is skipped: {reason}"] = None
            return Change(SKIP, item, (), reason)
        if item.section == "users":
            item = self._with_known_password(item)
        change = compare(item, self._present.find(item.section, item.key))
        if change is not None and change.action != CONFLICT:
            _CHECKS[item.section](self, item.value)
        return change

    def _why_skipped(self, item: Item) -> str:
        value = item.value
        match item.section:
            case "exchanges" if not value["name"]:
                return "it is the default exchange"
            case "exchanges" | "queues" if value["name"].startswith(RESERVED):
                return f"its name begins with '{RESERVED}'"
            case "queues" if value["exclusive"]:
                return "it is exclusive"
            case "bindings":
                return self._why_not_bound(value)
        return ""

    def _why_not_bound(self, value: Value) -> str:
        vhost = value["vhost"]
        if not value["source"]:
            return "the default exchange has no bindings of its own"
        if not self._is_there("exchange", vhost, value["source"]):
            return f"exchange '{value['source']}' does not exist; {NO_INTERNAL}"
        kind, name = value["destination_type"], value["destination"]
        if not self._is_there(kind, vhost, name):
            return f"{kind} '{name}' does not exist" + (f"; {NO_INTERNAL}" if kind == "exchange" else "")
        return ""

    def _is_there(self, kind: str, vhost_name: str, name: str) -> bool:
        """Tell whether a queue or exchange is there now, or will be."""
        if (f"{kind}s", vhost_name, name) in self._left_out:
            return False
        vhost = self._broker.vhosts.get(vhost_name)
        if vhost is not None and name in (vhost.queues if kind == "queue" else vhost.exchanges):
            return True
        if name.startswith(RESERVED):
            return kind == "exchange" and name in self._vhost(vhost_name).exchanges
        item = self._document.sections[f"{kind}s"].get((vhost_name, name))
        return item is not None and not item.value.get("exclusive")

    def _check_owner(self, item: Item) -> None:
        """Refuse what belongs to a virtual host or a user that is not there, and will not be."""
        vhost, user = item.value.get("vhost"), item.value.get("user")
        if vhost is not None and vhost not in self._broker.vhosts and not self._document.has("vhosts", vhost):
            raise Fault(f"virtual host '{vhost}' does not exist")
        if user is not None and self._broker.users.get(user) is None and not self._document.has("users", user):
            raise Fault(f"user '{user}' does not exist")

    def _with_known_password(self, item: Item) -> Item:
        """Take a password that is the user's already as none: nothing changes."""
        user, password = self._broker.users.get(item.value["name"]), item.value["password"]
        if user is None or not password or not password_fits(password, user.password_hash, user.hashing_algorithm):
            return item
        return item._replace(value={**item.value, "password": None})

    def _vhost(self, name: str) -> VHost:
        """Return a virtual host, or one that stands for it until it is made."""
        vhost = self._broker.vhosts.get(name) or self._vhosts.get(name)
        if vhost is None:
            vhost = self._vhosts[name] = VHost(self._broker, name)
            declare_default_exchanges(vhost)
        return vhost

    # -- what each section asks ---------------------------------------------------------------------------------------

    def _user(self, value: Value) -> None:
        if value["password_hash"] is not None:
            check_hash(decoded(value["password_hash"]), value["hashing_algorithm"])
        if value["limits"]:
            checked_user_limits(value["limits"])

    def _default_type(self, value: Value) -> None:
        queue_type = value["default_queue_type"]
        if queue_type is not None and queue_type not in QUEUE_TYPES:
            raise Fault(f"its default_queue_type '{queue_type}' is none of {', '.join(QUEUE_TYPES)}")

    def _permission(self, value: Value) -> None:
        for name in ("configure", "write", "read"):
            try:
                Permission(*(value[each] if each == name else "" for each in ("configure", "write", "read")))
            except PatternError as error:
                raise Fault(f"its {name} is not a supported regular expression: {error}") from None

    def _topic_permission(self, value: Value) -> None:
        for name in ("write", "read"):
            patterns = [value[each] if each == name else "" for each in ("write", "read")]
            try:
                TopicPermission(value["vhost"], value["user"], *patterns)
            except PatternError as error:
                raise Fault(f"its {name} is not a supported regular expression: {error}") from None

    def _policy(self, value: Value) -> None:
        self._check_parameter(value["vhost"], POLICY, value["name"], policy_value(value))

    def _parameter(self, value: Value) -> None:
        component = value["component"]
        if component in self._broker.parameters.components:
            self._check_parameter(value["vhost"], component, value["name"], value["value"])
        else:
            text = f"component '{component}' is unknown: its parameters are stored for an export, but have no effect"
            self.warnings[text] = None

    def _check_parameter(self, vhost: str, component: str, name: str, value: Any) -> None:
        self._broker.parameters.components[component].check(vhost, name, value)

    def _nothing(self, value: Value) -> None:
        """Global parameters are nobody's to refuse."""

    def _exchange(self, value: Value) -> None:
        exchange_type = EXCHANGE_TYPES.get(value["type"])
        if exchange_type is None:
            raise Fault(f"unknown exchange type '{value['type']}'")
        arguments = checked_arguments(value)
        check_link(self._vhost(value["vhost"]), None, "exchange", value["name"], arguments, ALTERNATE)
        exchange_type.validate(arguments)

    def _queue(self, value: Value) -> None:
        vhost, name = self._vhost(value["vhost"]), value["name"]
        arguments = queue_arguments(value, self._default_queue_type(value["vhost"]))
        check_link(vhost, None, "queue", name, arguments, DEAD_LETTER_EXCHANGE)
        queue_type = check_declare_arguments(vhost, name, arguments)
        check_queue_properties(
            vhost, name, queue_type, durable=value["durable"], exclusive=False, auto_delete=value["auto_delete"]
        )
        check_stream_sizes(queue_type, arguments)

    def _default_queue_type(self, vhost_name: str) -> str:
        wanted = self._document.sections["vhosts"].get((vhost_name,))
        if wanted is not None and wanted.value["default_queue_type"] is not None:
            found: str = wanted.value["default_queue_type"]
            return found
        return self._vhost(vhost_name).queue_type

    def _binding(self, value: Value) -> None:
        arguments = checked_arguments(value)
        self._source(value["vhost"], value["source"]).validate_binding(value["routing_key"], arguments)

    def _source(self, vhost_name: str, name: str) -> Exchange:
        """Return an exchange, or one that stands for it until it is made."""
        vhost = self._vhost(vhost_name)
        found = vhost.exchanges.get(name) or self._sources.get((vhost_name, name))
        if found is None:
            value = self._document.sections["exchanges"][vhost_name, name].value
            exchange_type = EXCHANGE_TYPES.get(value["type"])
            if exchange_type is None:
                raise Fault(f"its exchange has the unknown type '{value['type']}'")
            found = self._sources[vhost_name, name] = exchange_type(
                VHost(self._broker, vhost_name),
                name,
                durable=value["durable"],
                auto_delete=value["auto_delete"],
                internal=value["internal"],
                arguments=checked_arguments(value),
                user="",
            )
        return found

    def _check_limits(self) -> None:
        """Refuse more new queues than a virtual host may have, with RabbitMQ's text."""
        for name, count in self._new_queues.items():
            wanted = self._document.sections["parameters"].get((name, *LIMITS))
            limits = vhost_limits(self._broker, name) if wanted is None else wanted.value["value"]
            limit = limits.get(QUEUES, -1)
            there = len(self._vhost(name).queues)
            if isinstance(limit, int) and 0 <= limit < there + count:
                self.faults.append(
                    f'Adding {count} queue(s) to virtual host "{name}" would exceed the limit of {limit} queue(s). '
                    f"This virtual host currently has {there} queue(s) defined. Import aborted!"
                )
        limit, new = self._broker.settings.queues_max, sum(self._new_queues.values())
        there = sum(len(vhost.queues) for vhost in self._broker.vhosts.values())
        if limit is not None and new and there + new > limit:
            self.faults.append(
                f"{new} more queues besides the existing {there} would exceed cluster_queue_limit, {limit}"
            )


_CHECKS: Final = {
    "users": Checker._user,
    "vhosts": Checker._default_type,
    "permissions": Checker._permission,
    "topic_permissions": Checker._topic_permission,
    "exchanges": Checker._exchange,
    "global_parameters": Checker._nothing,
    "policies": Checker._policy,
    "parameters": Checker._parameter,
    "queues": Checker._queue,
    "bindings": Checker._binding,
}


# -- what an item means here ------------------------------------------------------------------------------------------


def decoded(password_hash: str) -> bytes:
    """Return the octets of a hash. Raises Fault."""
    try:
        return b64decode(password_hash, validate=True)
    except (binascii.Error, ValueError):
        raise Fault("its password_hash is not Base64") from None


def checked_arguments(value: Value) -> "Table":
    """Return an item's arguments as AMQP's. Raises Fault: they do not fit into a field table."""
    table = as_table(value["arguments"])
    try:
        encode_table(table)
    except ValueError as error:
        raise Fault(f"its arguments cannot be encoded in AMQP: {error}") from None
    return table


def queue_arguments(value: Value, default_type: str) -> "Table":
    """Return a queue's arguments; the vhost's default type goes to one that says nothing of its type. Raises Fault."""
    arguments = checked_arguments(value)
    if QUEUE_TYPE not in arguments:
        # Differs from RabbitMQ: a queue that is said to be classic does not become another type by an import.
        wanted = value["type"] or (default_type if value["durable"] and not value["auto_delete"] else "classic")
        if wanted and wanted != "classic":
            arguments[QUEUE_TYPE], arguments.types[QUEUE_TYPE] = wanted, "S"
    return arguments


def policy_value(value: Value) -> Value:
    """Return a policy's item as the parameter it is."""
    return {name: value[name] for name in ("pattern", "definition", "priority", "apply-to")}

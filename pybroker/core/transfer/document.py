"""A definitions document, item by item: RabbitMQ's sections, the contents of an item, and the one form of equal items.

The forms of all versions become one: tags as text or list, tables as objects or lists of pairs, members that an old
version left out. Pure: `checked.py` knows the node, and whether an item can be made there.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from pybroker.core.reply_text import describe
from pybroker.core.transfer.fields import (
    Fault,
    anything,
    canonical,
    check_characters,
    check_depth,
    flag,
    optional_text,
    pairs,
    secret,
    short_text,
    shown,
    tags,
    text,
)

SHA256: Final = "rabbit_password_hashing_sha256"
MD5: Final = "rabbit_password_hashing_md5"
# Versions whose files do not say with what a password is hashed, and used MD5 (rabbit_auth_backend_internal).
_MD5_VERSIONS: Final = ("3.5.", "3.4.", "3.3.", "3.2.", "3.1.", "3.0.")
LIMITS: Final = ("vhost-limits", "limits")
DESTINATIONS: Final = ("queue", "exchange")

Key = tuple[str, ...]
Value = dict[str, Any]
Raw = Mapping[str, Any]


class Section(NamedTuple):
    """One section of a document. `key` names what tells its items apart; `fields` what may differ in an item.

    An item that is there already is `updated`, or stays as it is. A member that is None was not given: the present
    value stays.
    """

    key: tuple[str, ...]
    fields: tuple[str, ...]
    read: Callable[[Raw, str], Value]
    updated: bool
    label: Callable[[Raw], str]
    in_vhost: bool = True


class Item(NamedTuple):
    """One item in its one form."""

    section: str
    key: Key
    value: Value

    @property
    def label(self) -> str:
        """Return what a sentence calls it: `queue 'q' in vhost '/'`."""
        return SECTIONS[self.section].label(self.value)


def read_item(section: str, raw: Any, *, version: str = "", vhost: str | None = None, number: int = 0) -> Item:
    """Return an item in its one form. `vhost` is where a document of one virtual host goes, whatever it says itself.

    `version` is what the document says of RabbitMQ's, `number` counts the items of a section from 1.

    Raises Fault: the sentence names the item and the reason.
    """
    known = SECTIONS[section]
    if not isinstance(raw, dict):
        raise Fault(f"item {number} of {section} is not an object but {shown(raw)}")
    if vhost is not None and known.in_vhost:
        raw = {**raw, "vhost": vhost}
    try:
        check_depth(raw)
        if known.in_vhost:
            _check_vhost(raw)
        value = known.read(raw, version)
        check_characters(raw)
    except Fault as fault:
        named = all(isinstance(raw.get(name), str) for name in known.key)
        label = known.label(raw) if named else f"item {number} of {section}"
        raise Fault(f"{label}: {fault}") from None
    key = tuple(value[name] for name in known.key)
    if section == "bindings":
        key += (canonical(value["arguments"]),)
    return Item(section, key, value)


def _check_vhost(raw: Raw) -> None:
    if raw.get("vhost") is None:
        raise Fault("it has no virtual host; import definitions of a single virtual host with --vhost")


# -- users and virtual hosts ------------------------------------------------------------------------------------------


def _user(raw: Raw, version: str) -> Value:
    value: Value = {"name": short_text(raw, "name"), "password": None, "password_hash": ""}
    value["hashing_algorithm"] = optional_text(raw, "hashing_algorithm") or (
        MD5 if version.startswith(_MD5_VERSIONS) else SHA256
    )
    if raw.get("password") is not None:
        if raw.get("password_hash") is not None:
            raise Fault("it has both a password and a password_hash")
        value |= {"password": secret(raw, "password"), "password_hash": None, "hashing_algorithm": None}
    elif raw.get("password_hash") is not None:
        value["password_hash"] = secret(raw, "password_hash")
    if raw.get("tags") is not None:
        value["tags"] = tags(raw["tags"])
    elif raw.get("administrator") is not None:
        value["tags"] = ["administrator"] if raw["administrator"] in (True, "true") else []
    else:
        raise Fault("it has no tags")
    value["limits"] = pairs(raw, "limits")
    return value


def _vhost(raw: Raw, _version: str) -> Value:
    metadata = pairs(raw, "metadata") or {}
    both = {**metadata, **{name: raw[name] for name in raw if raw[name] is not None}}
    return {
        "name": short_text(raw, "name"),
        "description": optional_text(both, "description"),
        "tags": None if both.get("tags") in (None, "undefined", "null") else tags(both["tags"]),
        "default_queue_type": optional_text(both, "default_queue_type"),
        "protected_from_deletion": _optional_flag(both, "protected_from_deletion"),
        "tracing": _optional_flag(raw, "tracing"),
        "limits": pairs(raw, "limits"),
    }


def _optional_flag(raw: Raw, name: str) -> bool | None:
    return flag(raw, name, default=False) if raw.get(name) is not None else None


def _permission(raw: Raw, _version: str) -> Value:
    patterns = {name: text(raw, name) for name in ("configure", "write", "read")}
    return {"user": short_text(raw, "user"), "vhost": short_text(raw, "vhost"), **patterns}


def _topic_permission(raw: Raw, _version: str) -> Value:
    names = {name: short_text(raw, name) for name in ("user", "vhost", "exchange")}
    return {**names, **{name: text(raw, name) for name in ("write", "read")}}


# -- parameters and policies ------------------------------------------------------------------------------------------

# Their values are objects, which Erlang may have written as lists of pairs.
_OBJECTS: Final = frozenset({"policy", "operator_policy", "vhost-limits"})


def _parameter(raw: Raw, _version: str) -> Value:
    value = {name: short_text(raw, name) for name in ("vhost", "component", "name")}
    held: Any = anything(raw, "value")
    if value["component"] not in _OBJECTS:
        return {**value, "value": held}
    held = pairs(raw, "value") or {}
    if "definition" in held:
        held = {**held, "definition": pairs(held, "definition")}
    return {**value, "value": held}


def _global_parameter(raw: Raw, _version: str) -> Value:
    return {"name": short_text(raw, "name"), "value": anything(raw, "value")}


def _policy(raw: Raw, _version: str) -> Value:
    priority = raw.get("priority", 0)
    return {
        "vhost": short_text(raw, "vhost"),
        "name": short_text(raw, "name"),
        "pattern": text(raw, "pattern"),
        "apply-to": optional_text(raw, "apply-to") or "all",
        "priority": 0 if priority is None else priority,
        "definition": pairs(raw, "definition"),
    }


# -- what is in a virtual host ----------------------------------------------------------------------------------------


def _declared(raw: Raw, **own: Any) -> Value:
    return {
        "vhost": short_text(raw, "vhost"),
        "name": short_text(raw, "name"),
        "durable": flag(raw, "durable", default=True),
        "auto_delete": flag(raw, "auto_delete", default=False),
        "arguments": pairs(raw, "arguments") or {},
        **own,
    }


def _exchange(raw: Raw, _version: str) -> Value:
    return _declared(raw, type=short_text(raw, "type"), internal=flag(raw, "internal", default=False))


def _queue(raw: Raw, _version: str) -> Value:
    return _declared(raw, type=optional_text(raw, "type"), exclusive=flag(raw, "exclusive", default=False))


def _binding(raw: Raw, _version: str) -> Value:
    names = {name: short_text(raw, name) for name in ("vhost", "source", "destination", "destination_type")}
    if names["destination_type"] not in DESTINATIONS:
        raise Fault(f"its destination_type is neither queue nor exchange but {shown(names['destination_type'])}")
    return {**names, "routing_key": short_text(raw, "routing_key"), "arguments": pairs(raw, "arguments") or {}}


def _label_of_binding(value: Raw) -> str:
    ends = f"{value['source']!r} to {value['destination_type']} {value['destination']!r}"
    return f"binding from exchange {ends} by routing key {value['routing_key']!r} in vhost {value['vhost']!r}"


class Document:
    """All items of a document by section and key, and what is wrong with it. `vhost`: it goes into that one alone."""

    __slots__ = ("faults", "sections", "version", "vhost", "warnings")

    def __init__(self, vhost: str | None = None) -> None:
        self.vhost = vhost
        self.version = ""
        self.sections: dict[str, dict[Key, Item]] = {name: {} for name in SECTIONS}
        self.faults: list[str] = []
        self.warnings: dict[str, None] = {}

    def __len__(self) -> int:
        return sum(map(len, self.sections.values()))

    def __iter__(self) -> Iterator[Item]:
        """Iterate over the items in the order in which they are imported."""
        for items in self.sections.values():
            yield from items.values()

    def has(self, section: str, *key: str) -> bool:
        """Tell whether there is such an item."""
        return key in self.sections[section]

    def read(self, name: str, items: Any) -> Iterator[None]:
        """Take some items of a section, or a member that is none; yield after each."""
        if name in {"rabbitmq_version", "rabbit_version"}:
            self.version = str(items)
        elif name not in SECTIONS:
            if isinstance(items, list) and items:
                self.warnings[f"section {name!r:.80} is unknown and skipped"] = None
        elif not isinstance(items, list):
            self.faults.append(f"{name} is not a list but {shown(items)}")
        elif self.vhost is not None and name not in VHOST_SECTIONS:
            if items:
                self.warnings[f"{name} are skipped, since they are not in a virtual host (--vhost {self.vhost})"] = None
        else:
            for number, raw in enumerate(items, 1):
                self._take(name, raw, number)
                yield

    def _take(self, section: str, raw: Any, number: int) -> None:
        try:
            item = read_item(section, raw, version=self.version, vhost=self.vhost, number=number)
        except Fault as fault:
            self.faults.append(str(fault))
            return
        items = self.sections[section]
        if SECTIONS[section].updated or item.key not in items:
            items[item.key] = item

    def emptied(self, others: list[Any]) -> Iterator[None]:
        """Let go of all items, and of what was made of them; yield after each."""
        for items in self.sections.values():
            while items:
                items.popitem()
                if others:
                    others.pop()
                yield
        others.clear()

    def finish(self) -> None:
        """Know that all of it is read: limits that a virtual host's item has count unless a parameter has them."""
        # Differs from RabbitMQ, which reads the parameter alone: its own exports have both.
        for item in self.sections["vhosts"].values():
            name, limits = item.value["name"], item.value["limits"]
            if limits and not self.has("parameters", name, *LIMITS):
                component, parameter = LIMITS
                raw = {"vhost": name, "component": component, "name": parameter, "value": limits}
                self._take("parameters", raw, 0)


# In the order in which RabbitMQ imports them.
SECTIONS: Final[dict[str, Section]] = {
    "users": Section(
        ("name",),
        ("password", "password_hash", "hashing_algorithm", "tags", "limits"),
        _user,
        updated=True,
        label=lambda v: f"user '{v['name']}'",
        in_vhost=False,
    ),
    "vhosts": Section(
        ("name",),
        ("description", "tags", "default_queue_type", "protected_from_deletion", "tracing"),
        _vhost,
        updated=True,
        label=lambda v: f"vhost '{v['name']}'",
        in_vhost=False,
    ),
    "permissions": Section(
        ("user", "vhost"),
        ("configure", "write", "read"),
        _permission,
        updated=True,
        label=lambda v: f"permissions of user '{v['user']}' in vhost '{v['vhost']}'",
    ),
    "topic_permissions": Section(
        ("user", "vhost", "exchange"),
        ("write", "read"),
        _topic_permission,
        updated=True,
        label=lambda v: (
            f"topic permissions of user '{v['user']}' at exchange '{v['exchange']}' in vhost '{v['vhost']}'"
        ),
    ),
    "exchanges": Section(
        ("vhost", "name"),
        ("type", "durable", "auto_delete", "internal", "arguments"),
        _exchange,
        updated=False,
        label=lambda v: describe("exchange", v["name"], v["vhost"]),
    ),
    "global_parameters": Section(
        ("name",),
        ("value",),
        _global_parameter,
        updated=True,
        label=lambda v: f"global parameter '{v['name']}'",
        in_vhost=False,
    ),
    "policies": Section(
        ("vhost", "name"),
        ("pattern", "apply-to", "priority", "definition"),
        _policy,
        updated=True,
        label=lambda v: describe("policy", v["name"], v["vhost"]),
    ),
    "parameters": Section(
        ("vhost", "component", "name"),
        ("value",),
        _parameter,
        updated=True,
        label=lambda v: f"parameter '{v['name']}' of component '{v['component']}' in vhost '{v['vhost']}'",
    ),
    "queues": Section(
        ("vhost", "name"),
        ("type", "durable", "auto_delete", "exclusive", "arguments"),
        _queue,
        updated=False,
        label=lambda v: describe("queue", v["name"], v["vhost"]),
    ),
    "bindings": Section(
        ("vhost", "source", "destination_type", "destination", "routing_key"),
        (),
        _binding,
        updated=False,
        label=_label_of_binding,
    ),
}
# Sections of a document of one virtual host; any others are left out when a document is imported into one (RabbitMQ's
# order differs, which makes no difference).
VHOST_SECTIONS: Final = ("exchanges", "policies", "parameters", "queues", "bindings")

"""The settings of RabbitMQ's classic configuration that pybroker takes: each one's type, and the keys it stands for.

A rule takes a setting's name and its term, and yields keys of pybroker.conf with their values as text.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from pybroker.daemon.config.classic.erlang_terms import Atom, Term
from pybroker.daemon.config.rabbitmq_keys import find_reason

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


class Given(NamedTuple):
    """A key of pybroker.conf with its value, and the term that it comes from; or why there is none (`refused`)."""

    key: str
    value: str
    term: Term
    refused: str = ""


class Wrong(ValueError):
    """A term is not what the setting wants; the text says what is expected."""

    def __init__(self, term: Term, expected: str) -> None:
        super().__init__(expected)
        self.term = term


Read = Callable[[Term], str]
Rule = Callable[[str, Term], Iterator[Given]]


def pair(term: Term) -> tuple[str, Term] | None:
    """Return the key and the value of `{key, value}`, None for what is no such thing."""
    value = term.value
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0].value, Atom):
        return value[0].value.name, value[1]
    return None


def pairs(term: Term) -> Iterator[tuple[str, Term, Term]]:
    """Yield what is in a list of settings: key, value, and the whole. Raises Wrong."""
    for each in listed(term):
        found = pair(each)
        if found is not None:
            yield *found, each
        elif isinstance(each.value, Atom):
            yield each.value.name, each, each
        else:
            raise Wrong(each, "expected {key, value}")


def listed(term: Term) -> list[Term]:
    """Return what is in a list. Raises Wrong."""
    if not isinstance(term.value, list):
        raise Wrong(term, "expected a list")
    return term.value


def integer(term: Term) -> str:
    """Return a whole number. Raises Wrong."""
    if not isinstance(term.value, int):
        raise Wrong(term, "expected an integer")
    return str(term.value)


def number(term: Term) -> str:
    """Return a whole number or a float. Raises Wrong."""
    if not isinstance(term.value, int | float):
        raise Wrong(term, "expected a number, such as 0.4")
    return str(term.value)


def size(term: Term) -> str:
    """Return octets or a string with a unit. Raises Wrong."""
    if isinstance(term.value, str):
        return term.value
    if not isinstance(term.value, int):
        raise Wrong(term, 'expected octets, such as 1000000000 or "1GB"')
    return str(term.value)


def text(term: Term) -> str:
    """Return a binary or a string, which must be a text. Raises Wrong."""
    try:
        found = term.value.decode() if isinstance(term.value, bytes) else term.value
    except UnicodeDecodeError:
        found = None
    if not isinstance(found, str) or _CONTROL.search(found):
        raise Wrong(term, 'expected a text, such as <<"text">>')
    return found


def word(*choices: str) -> Read:
    """Return a reader of atoms, of any if no choices are given."""

    def read(term: Term) -> str:
        if not isinstance(term.value, Atom) or (choices and term.value.name not in choices):
            raise Wrong(term, f"expected {' or '.join(choices)}" if choices else "expected an atom")
        return term.value.name

    return read


def one(read: Read, key: str = "") -> Rule:
    """Return the rule of a setting that is one key of pybroker.conf, by default of the same name."""

    def rule(name: str, term: Term) -> Iterator[Given]:
        yield Given(key or name, read(term), term)

    return rule


def either(expected: str, alone: tuple[str, Read], **forms: tuple[str, Read]) -> Rule:
    """Return the rule of a limit: `{form, value}`, or a value alone."""

    def rule(name: str, term: Term) -> Iterator[Given]:
        found = pair(term)
        form, inner = (alone, term) if found is None else (forms.get(found[0]), found[1])
        if form is None or isinstance(inner.value, tuple):
            raise Wrong(term, f"expected {expected}")
        kind, read = form
        yield Given(f"{name}.{kind}", read(inner), inner)

    return rule


def _listeners(name: str, term: Term) -> Iterator[Given]:
    head = f"listeners.{name.removesuffix('_listeners')}"
    expected = 'expected a port or {"address", port}'
    if not listed(term):
        yield Given(head, "none", term)
    for n, each in enumerate(listed(term), 1):
        host, port = "", each
        if isinstance(each.value, tuple):
            if len(each.value) != 2 or not isinstance(each.value[0].value, str):
                raise Wrong(each, expected)
            host, port = each.value[0].value, each.value[1]
        if not isinstance(port.value, int):
            raise Wrong(each, expected)
        # RabbitMQ's scripts write "auto" for all interfaces.
        yield Given(f"{head}.{n}", str(port.value) if host in {"", "auto"} else f"{host}:{port.value}", each)


def _trusted_proxies(_name: str, term: Term) -> Iterator[Given]:
    for n, each in enumerate(listed(term), 1):
        yield Given(f"proxy_protocol.trusted.{n}", text(each), each)


def _listen_options(name: str, term: Term) -> Iterator[Given]:
    for key, value, whole in pairs(term):
        full = f"{name}.{key}"
        if key == "backlog":
            yield Given(full, integer(value), whole)
        else:
            yield Given(full, "", whole, find_reason(full) or "")


def _users(name: str, term: Term) -> Iterator[Given]:
    if not listed(term):
        yield Given(name, "none", term)
    for each in listed(term):
        yield Given(f"{name}.{text(each)}", "true", each)


def _tags(name: str, term: Term) -> Iterator[Given]:
    if not listed(term):
        yield Given(f"{name}.administrator", "false", term)
    for each in listed(term):
        yield Given(f"{name}.{word()(each)}", "true", each)


def _permissions(name: str, term: Term) -> Iterator[Given]:
    patterns = listed(term)
    if len(patterns) != 3:
        raise Wrong(term, 'expected [<<"configure">>, <<"write">>, <<"read">>]')
    for permission, each in zip(("configure", "write", "read"), patterns, strict=True):
        yield Given(f"{name}.{permission}", text(each), each)


def _mechanisms(name: str, term: Term) -> Iterator[Given]:
    if not listed(term):
        raise Wrong(term, "expected ['PLAIN', 'AMQPLAIN'] or one of them")
    for n, each in enumerate(listed(term), 1):
        yield Given(f"{name}.{n}", word()(each), each)


def _file_name(term: Term) -> str:
    return "false" if isinstance(term.value, Atom) and term.value.name == "false" else text(term)


def _backend(term: Term) -> str:
    return word()(term).removeprefix("rabbit_definitions_import_")


_DEFINITIONS: Final[Mapping[str, tuple[str, Read]]] = {
    "import_backend": ("definitions.import_backend", _backend),
    "local_path": ("definitions.local.path", text),
    "skip_if_unchanged": ("definitions.skip_if_unchanged", word("true", "false")),
}


def _definitions(name: str, term: Term) -> Iterator[Given]:
    for key, value, whole in pairs(term):
        if key in _DEFINITIONS:
            full, read = _DEFINITIONS[key]
            yield Given(full, read(value), whole)
        else:
            yield Given(f"{name}.{key}", "", whole, find_reason(name) or "")


_LOGS: Final[Mapping[tuple[str, str], tuple[str, Read]]] = {
    ("file", "file"): ("log.file", _file_name),
    ("file", "level"): ("log.file.level", word()),
    ("console", "enabled"): ("log.console", word("true", "false")),
    ("console", "level"): ("log.console.level", word()),
    ("console", "stdio"): ("log.console.stdio", word("stdout", "stderr")),
    ("journald", "enabled"): ("log.journald", word("true", "false")),
    ("journald", "level"): ("log.journald.level", word()),
}


def _log(name: str, term: Term) -> Iterator[Given]:
    for output, settings, whole in pairs(term):
        if output not in {"file", "console", "journald"}:
            yield Given(f"{name}.{output}", "", whole, find_reason(name) or "")
            continue
        for key, value, inner in pairs(settings):
            if (output, key) in _LOGS:
                full, read = _LOGS[output, key]
                yield Given(full, read(value), inner)
            else:
                yield Given(f"{name}.{output}.{key}", "", inner, find_reason(name) or "")


_TRUE_OR_FALSE: Final = word("true", "false")
_TLS: Final[Mapping[str, Read]] = {
    **dict.fromkeys(("cacertfile", "certfile", "keyfile", "password", "dhfile"), text),
    **dict.fromkeys(("fail_if_no_peer_cert", "honor_cipher_order", "honor_ecc_order"), _TRUE_OR_FALSE),
    **dict.fromkeys(("client_renegotiation", "secure_renegotiate", "reuse_sessions"), _TRUE_OR_FALSE),
    "verify": word(),
    "depth": integer,
}
_TLS_LISTS: Final[Mapping[str, Read]] = {"versions": word(), "ciphers": text}


def _tls(name: str, term: Term) -> Iterator[Given]:
    for key, value, whole in pairs(term):
        full = f"{name}.{key}"
        if key in _TLS:
            yield Given(full, _TLS[key](value), whole)
        elif key in _TLS_LISTS:
            for n, each in enumerate(listed(value), 1):
                yield Given(f"{full}.{n}", _TLS_LISTS[key](each), each)
        else:
            yield Given(full, "", whole, find_reason(full) or "")


RULES: Final[Mapping[str, Rule]] = {
    "tcp_listeners": _listeners,
    "tcp_listen_options": _listen_options,
    "ssl_listeners": _listeners,
    "ssl_options": _tls,
    "ssl_handshake_timeout": one(integer),
    "proxy_protocol": one(word("true", "false")),
    "proxy_protocol_trusted": _trusted_proxies,
    "handshake_timeout": one(integer),
    "heartbeat": one(integer),
    "frame_max": one(integer),
    "initial_frame_max": one(integer),
    "channel_max": one(integer),
    "consumer_max_per_channel": one(lambda term: "infinity" if term.value == Atom("infinity") else integer(term)),
    "connection_max": one(lambda term: "infinity" if term.value == Atom("infinity") else integer(term)),
    "channel_max_per_node": one(lambda term: "infinity" if term.value == Atom("infinity") else integer(term)),
    "password_hashing_module": one(word()),
    "consumer_timeout": one(lambda term: "undefined" if term.value == Atom("undefined") else integer(term)),
    "max_message_size": one(integer),
    "quorum_relaxed_checks_on_redeclaration": one(
        word("true", "false"), "quorum_queue.property_equivalence.relaxed_checks_on_redeclaration"
    ),
    "cluster_name": one(text),
    "auth_mechanisms": _mechanisms,
    "ssl_cert_login_from": one(word()),
    "ssl_cert_login_san_type": one(word()),
    "ssl_cert_login_san_index": one(integer),
    "default_vhost": one(text),
    "default_queue_type": one(word()),
    "default_user": one(text),
    "default_pass": one(text),
    "default_user_tags": _tags,
    "default_permissions": _permissions,
    "loopback_users": _users,
    "vm_memory_high_watermark": either(
        'a number, such as 0.4, or {absolute, 1073741824} or {absolute, "1GiB"}',
        alone=("relative", number),
        relative=("relative", number),
        absolute=("absolute", size),
    ),
    "vm_memory_high_watermark_paging_ratio": one(number),
    "vm_memory_calculation_strategy": one(word()),
    "memory_monitor_interval": one(integer),
    "total_memory_available_override_value": one(size),
    "disk_free_limit": either(
        'octets, such as 1000000000 or "1GB", or {mem_relative, 1.0}',
        alone=("absolute", size),
        absolute=("absolute", size),
        mem_relative=("relative", number),
    ),
    "load_definitions": one(text),
    "definitions": _definitions,
    "log": _log,
    "log_root": one(text, "log.dir"),
}

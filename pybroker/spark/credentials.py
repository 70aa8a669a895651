"""Address and credentials: connection options -> the client's options.

Passwords stand in event logs and plans where they are given as options, so each may also be in a file. Files are read
on the driver, when a query is planned; executors get their contents.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pybroker.client import Address, Options, Tls, parse_uri
from pybroker.client.options import AMQP_PORT, AMQPS_PORT
from pybroker.spark.values import OptionError, boolean, number, text

_URI: Final = ("uri", "uriFile")
_SINGLE: Final = ("host", "port", "virtualHost", "username", "password", "passwordFile")
_TLS: Final = {
    "tls.caFile": "ca_file",
    "tls.certFile": "cert_file",
    "tls.keyFile": "key_file",
    "tls.keyPassword": "key_password",
    "tls.keyPasswordFile": "key_password",
    "tls.serverName": "server_name",
}
# Options of the connector, and of the client.
_FIELDS: Final = {
    "username": "username",
    "virtualHost": "virtual_host",
    "password": "password",
    "passwordFile": "password",
}
_PASSWORDS: Final = {"passwordFile": "password", "tls.keyPasswordFile": "tls.keyPassword"}
_PARTS: Final = (*_SINGLE, "authMechanism", "tls", *_TLS)
CONNECTION: Final = (*_URI, *_PARTS, "heartbeat", "connectionName")

# Octets of a file that may be a password or a URI.
_FILE_OCTETS_MAX: Final = 1 << 16


def client_options(given: Mapping[str, str], purpose: str) -> Options:
    """Return the client's options; `purpose` stands in the connection's name. Raises OptionError."""
    lower = {key.lower(): value for key, value in given.items()}
    values = {name: lower[name.lower()] for name in CONNECTION if name.lower() in lower}
    by_uri = [name for name in _URI if name in values]
    if len(by_uri) == 2:
        raise OptionError("uriFile", "and uri exclude each other")
    options = _from_uri(values, by_uri[0]) if by_uri else _from_parts(values)
    changes: dict[str, Any] = {"recovery": False, "connection_name": values.get("connectionName") or f"spark:{purpose}"}
    if "heartbeat" in values:
        changes["heartbeat_s"] = _number(values, "heartbeat", 0, 65_535)
    try:
        return replace(options, **changes)
    except ValueError as error:
        raise OptionError("uri", f"makes no sense: {error}") from None


def _from_uri(values: Mapping[str, str], name: str) -> Options:
    others = [other for other in _PARTS if other in values]
    if others:
        raise OptionError(others[0], f"and {name} exclude each other: say it in the URI")
    uri = values["uri"] if name == "uri" else _contents("uriFile", values["uriFile"])
    try:
        return parse_uri(*uri.split())
    except (ValueError, TypeError) as error:
        raise OptionError(name, f"makes no sense: {str(error) or 'it is empty'}") from None


def _from_parts(given: Mapping[str, str]) -> Options:
    values = dict(given)
    for in_file, name in _PASSWORDS.items():
        if in_file in values:
            if name in values:
                raise OptionError(in_file, f"and {name} exclude each other")
            values[in_file] = _contents(in_file, values[in_file])
    tls = _tls(values)
    port = _number(values, "port", 1, 65_535) if "port" in values else AMQPS_PORT if tls else AMQP_PORT
    fields: dict[str, Any] = {"addresses": (Address(values.get("host", "localhost"), port),), "tls": tls}
    for name, field in _FIELDS.items():
        if name in values:
            fields[field] = values[name]
    if "authMechanism" in values:
        fields["auth_mechanism"] = _mechanism(values["authMechanism"])
        if fields["auth_mechanism"] == "EXTERNAL" and (tls is None or not tls.cert_file):
            raise OptionError("authMechanism", "EXTERNAL needs tls.certFile: the certificate says who we are")
    return Options(**fields)


def _tls(values: Mapping[str, str]) -> Tls | None:
    """Return how to speak TLS: any of its options asks for it. Raises OptionError."""
    fields: dict[str, Any] = {field: values[name] for name, field in _TLS.items() if name in values}
    try:
        wanted = boolean(values["tls"]) if "tls" in values else bool(fields)
    except ValueError as error:
        raise OptionError("tls", str(error)) from None
    if fields and not wanted:
        raise OptionError("tls", "is false, and options of TLS are given")
    return Tls(**fields) if wanted else None


def _mechanism(value: str) -> str:
    try:
        return text(value, "plain", "external").upper()
    except ValueError as error:
        raise OptionError("authMechanism", str(error)) from None


def _number(values: Mapping[str, str], name: str, low: int, high: int) -> int:
    try:
        return number(values[name], low, high)
    except ValueError as error:
        raise OptionError(name, str(error)) from None


def _contents(name: str, path: str) -> str:
    """Return what is in a file, without the line's end. Raises OptionError."""
    try:
        with Path(path).open(encoding="utf-8") as file:
            return file.read(_FILE_OCTETS_MAX).rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(name, f"names {path}, which cannot be read: {error}") from None

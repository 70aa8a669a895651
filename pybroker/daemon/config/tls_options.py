"""The keys of the configuration about TLS, and the options that they make together. No file is read here."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from pybroker.daemon.config import stream_options, values
from pybroker.daemon.config.conf_file import Assignment
from pybroker.daemon.config.values import Parser

HEAD: Final = "ssl_options."
SNI: Final = f"{HEAD}sni.HOST."
PASSWORD: Final = f"{HEAD}password"
LISTENERS: Final = "listeners.ssl.NAME"
VERSIONS: Final = ("tlsv1.2", "tlsv1.3")
OLD_VERSIONS: Final = ("tlsv1", "tlsv1.1", "sslv3", "sslv2")
# As OpenSSL: no chain is longer.
DEPTH_MAX: Final = 100


# Differs from RabbitMQ: it offers TLS 1.0 and 1.1 to those who name them, as far as its Erlang does.
def _version(text: str) -> str:
    if text in OLD_VERSIONS:
        raise ValueError("expected tlsv1.2 or tlsv1.3: older versions are not safe and not supported")
    return str(values.one_of(VERSIONS)(text))


# Key -> (default, how its value is read). Of the last four one value is supported: whoever writes it is not misled.
KEYS: Final[Mapping[str, tuple[str, Parser]]] = {
    f"{HEAD}cacertfile": ("", values.path),
    f"{HEAD}certfile": ("", values.path),
    f"{HEAD}keyfile": ("", values.path),
    PASSWORD: ("", values.text_value),
    f"{HEAD}verify": ("verify_none", values.one_of(("verify_peer", "verify_none"))),
    f"{HEAD}fail_if_no_peer_cert": ("false", values.boolean),
    f"{HEAD}depth": ("10", values.whole_number(0, DEPTH_MAX)),
    f"{HEAD}versions.N": ("", _version),
    f"{HEAD}ciphers.N": ("", values.text_value),
    f"{HEAD}honor_cipher_order": ("false", values.boolean),
    f"{HEAD}dhfile": ("", values.path),
    f"{SNI}certfile": ("", values.path),
    f"{SNI}keyfile": ("", values.path),
    f"{HEAD}honor_ecc_order": ("false", values.boolean),
    f"{HEAD}client_renegotiation": ("false", values.one_of(("false",))),
    f"{HEAD}secure_renegotiate": ("true", values.one_of(("true",))),
    f"{HEAD}reuse_sessions": ("true", values.one_of(("true",))),
}


class Files(NamedTuple):
    """A certificate, with the authorities between it and a trusted one behind it, and its key (PEM)."""

    certificate: Path
    key: Path


class TlsOptions(NamedTuple):
    """The listeners' TLS. Without versions or ciphers all are meant that are safe.

    `by_name` has certificates of other names that clients ask for (SNI).
    """

    files: Files
    by_name: Mapping[str, Files] = {}
    password: str = ""
    authorities: Path | None = None
    verify: bool = False
    required: bool = False
    depth: int = 10
    versions: tuple[str, ...] = VERSIONS
    ciphers: tuple[str, ...] = ()
    honor_order: bool = False
    dh_parameters: Path | None = None
    head: str = HEAD  # of the keys that say all this

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return every file it is made of."""
        pairs = [path for files in (self.files, *self.by_name.values()) for path in files]
        return tuple(dict.fromkeys((*pairs, *filter(None, (self.authorities, self.dh_parameters)))))


def gather(
    given: Mapping[str, dict[str, Any]], assignments: Iterable[Assignment]
) -> tuple[TlsOptions | None, list[str]]:
    """Return the options, None without a TLS listener, and a sentence for each thing that does not fit."""
    places = {each.key: each.where for each in assignments}
    listeners = [places[key] for key in places if key.startswith(("listeners.ssl.", f"{stream_options.SSL}."))]
    wanted = LISTENERS in given or stream_options.ssl(given)
    return collect(HEAD, given, places, listeners[0]) if wanted else (None, [])


def collect(
    head: str, given: Mapping[str, dict[str, Any]], places: Mapping[str, str], place: str
) -> tuple[TlsOptions | None, list[str]]:
    """Return the options that keys with this head make together, and a sentence for each thing that does not fit.

    They are wanted at a `place`, as all keys are written at `places`.
    """

    def one(name: str) -> Any:
        return given.get(head + name, {}).get("")

    faults = []
    certificate = one("certfile")
    if certificate is None:
        faults.append(f"{place}: a TLS listener needs {head}certfile, and {head}keyfile unless both are one file")
    required, verify = one("fail_if_no_peer_cert") or False, one("verify") == "verify_peer"
    if required and not verify:
        where = places[f"{head}fail_if_no_peer_cert"]
        faults.append(f"{where}: {head}fail_if_no_peer_cert = true needs {head}verify = verify_peer")
    if verify and one("cacertfile") is None:
        faults.append(f"{places[f'{head}verify']}: {head}verify = verify_peer needs {head}cacertfile")
    order = one("honor_cipher_order") or False
    if one("honor_ecc_order") not in {None, order}:
        where = places[f"{head}honor_ecc_order"]
        faults.append(f"{where}: {head}honor_ecc_order must be what {head}honor_cipher_order is")
    by_name = {}
    certificates, keys = (given.get(f"{head}sni.HOST.{name}", {}) for name in ("certfile", "keyfile"))
    for name in dict.fromkeys((*certificates, *keys)):
        if name in certificates:
            by_name[name.lower()] = Files(certificates[name], keys.get(name, certificates[name]))
        else:
            where = places[f"{head}sni.{name}.keyfile"]
            faults.append(f"{where}: {head}sni.{name}.keyfile needs {head}sni.{name}.certfile")
    if faults:
        return None, faults
    depth = one("depth")
    return TlsOptions(
        files=Files(certificate, one("keyfile") or certificate),
        by_name=by_name,
        password=one("password") or "",
        authorities=one("cacertfile"),
        verify=verify,
        required=required,
        depth=TlsOptions._field_defaults["depth"] if depth is None else depth,
        versions=_numbered(given, f"{head}versions.N") or VERSIONS,
        ciphers=_numbered(given, f"{head}ciphers.N"),
        honor_order=order,
        dh_parameters=one("dhfile"),
        head=head,
    ), []


def _numbered(given: Mapping[str, dict[str, Any]], name: str) -> tuple[str, ...]:
    """Return the values of a list, by their numbers."""
    found = given.get(name, {})
    return tuple(dict.fromkeys(found[n] for n in sorted(found, key=lambda n: (len(n), n))))

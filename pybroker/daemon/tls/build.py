"""Contexts of OpenSSL from options and the files that they name: all of them, or one error with file and reason."""

import os
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from pybroker.daemon.config.plain_file import read_octets
from pybroker.daemon.config.tls_options import VERSIONS, Files, TlsOptions
from pybroker.daemon.start_error import StartError
from pybroker.net.tls_context import TlsContexts

TLS_VERSIONS: Final = {"tlsv1.2": ssl.TLSVersion.TLSv1_2, "tlsv1.3": ssl.TLSVersion.TLSv1_3}
# TLS 1.3 names its ciphers so. Python before 3.15 cannot choose among them.
_NEW: Final = "TLS_"
KEY_BITS_MIN: Final = 128
# Of TLS 1.2, without a configuration: keys that are not kept, and no SHA-1. Builds of Python differ in what they offer.
_USUAL: Final = "ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM:ECDHE+AES:!aNULL:!eNULL:!aDSS:!SHA1:!AESCCM"
_NO_CERTIFICATE: Final = "there is no certificate (PEM) in it"
# OpenSSL's reasons for a key that is another certificate's: of the same kind, and of another.
_MISMATCHES: Final = frozenset({"KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED"})
# Twenty times all public authorities together.
FILE_OCTETS_MAX: Final = 4 << 20
# Differs from RabbitMQ: it has tickets, and resumes sessions of TLS 1.3.
# Tickets would carry a session past the checks of `TlsContexts.admit`. TLS 1.2 resumes sessions that it remembers.
_OPTIONS: Final = ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION | ssl.OP_NO_TICKET


class TlsError(StartError):
    """The options or a file of theirs are refused; the text says which, and why."""

    def __init__(self, text: str) -> None:
        super().__init__(text, os.EX_CONFIG)


def build(options: TlsOptions, kind: type[ssl.SSLContext] = ssl.SSLContext) -> TlsContexts:
    """Return the contexts of the options, each of a kind. Raises TlsError."""
    default = _context(options, options.files, kind)
    by_name = {name: _context(options, files, kind) for name, files in options.by_name.items()}
    return TlsContexts(default, by_name, verifies=options.verify, depth=options.depth)


def _context(options: TlsOptions, files: Files, kind: type[ssl.SSLContext]) -> ssl.SSLContext:
    context = kind(ssl.PROTOCOL_TLS_SERVER)
    context.options |= _OPTIONS
    context.num_tickets = 0
    if not options.honor_order:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    versions = _choose_ciphers(context, options)
    context.minimum_version = TLS_VERSIONS[versions[0]]
    context.maximum_version = TLS_VERSIONS[versions[-1]]
    _load_pair(context, files, options)
    if options.authorities is not None:
        _load(options.authorities, context.load_verify_locations, _NO_CERTIFICATE)
    if options.dh_parameters is not None:
        _load(options.dh_parameters, context.load_dh_params, "there are no Diffie-Hellman parameters (PEM) in it")
    if options.verify:
        context.verify_mode = ssl.CERT_REQUIRED if options.required else ssl.CERT_OPTIONAL
    return context


def _choose_ciphers(context: ssl.SSLContext, options: TlsOptions) -> tuple[str, ...]:
    """Have the context offer the configured ciphers and no others; return the versions that these leave."""
    versions = [each for each in VERSIONS if each in options.versions]
    new = [each for each in options.ciphers if each.startswith(_NEW)]
    old = [each for each in options.ciphers if not each.startswith(_NEW)]
    if not options.ciphers:
        context.set_ciphers(_USUAL)
        return tuple(versions)
    usual = [each["name"] for each in context.get_ciphers() if each["name"].startswith(_NEW)]
    if new and set(usual) - set(new):
        missing = ", ".join(sorted(set(usual) - set(new)))
        raise TlsError(
            f"{options.head}ciphers: Python's ssl cannot choose among the ciphers of TLS 1.3; name {missing} as well, "
            f"or none of them and {options.head}versions.1 = tlsv1.2"
        )
    if old:
        _check_ciphers(context, old, options.head)
    versions = [each for each, ciphers in zip(VERSIONS, (old, new), strict=True) if ciphers and each in versions]
    if not versions:
        raise TlsError(f"{options.head}ciphers: none of them belongs to one of {options.head}versions")
    return tuple(versions)


def _check_ciphers(context: ssl.SSLContext, names: list[str], head: str) -> None:
    """Choose ciphers of TLS 1.2; refuse names that OpenSSL does not know or thinks unsafe: it would ignore them."""
    for name in names:
        # An expression such as HIGH or !aNULL is no name.
        try:
            context.set_ciphers(name)
            found = any(each["name"] == name and _is_safe(each) for each in context.get_ciphers())
        except ssl.SSLError:
            found = False
        if not found:
            raise TlsError(f"{head}ciphers: {ssl.OPENSSL_VERSION} has no cipher {name}, or does not think it safe")
    context.set_ciphers(":".join(names))


def _is_safe(cipher: Mapping[str, Any]) -> bool:
    """Tell whether the server proves its identity, and the key has enough bits: OpenSSL lists others as well."""
    return cipher["auth"] != "auth-null" and int(cipher["strength_bits"]) >= KEY_BITS_MIN


def _load_pair(context: ssl.SSLContext, files: Files, options: TlsOptions) -> None:
    _load(files.certificate, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations, _NO_CERTIFICATE)
    _read(files.key)
    try:
        # Asked for in any case: OpenSSL would ask at the terminal.
        context.load_cert_chain(files.certificate, files.key, lambda: options.password)
    except (ssl.SSLError, ValueError) as error:
        raise TlsError(_explain(files, error, options)) from None
    except OSError as error:  # one of them has just gone
        raise TlsError(f"{files.certificate} or {files.key}: {error.strerror}") from None


def _load(path: Path, load: Callable[[str], object], fault: str) -> None:
    """Have OpenSSL load a file. Raises TlsError: it cannot be read, or the `fault`."""
    _read(path)
    try:
        load(str(path))
    except (ssl.SSLError, ValueError):
        raise TlsError(f"{path}: {fault}") from None
    except OSError as error:
        raise TlsError(f"{path}: {error.strerror}") from None


def _explain(files: Files, error: Exception, options: TlsOptions) -> str:
    reason = getattr(error, "reason", None) or ""
    if reason in _MISMATCHES:
        return f"{files.key}: the key does not belong to the certificate in {files.certificate}"
    if "ENCRYPTED" in _read(files.key):
        if not options.password:
            return f"{files.key}: the key is encrypted; set {options.head}password"
        return f"{files.key}: {options.head}password does not open the key"
    if "PRIVATE KEY" not in _read(files.key):
        return f"{files.key}: there is no private key (PEM) in it"
    return f"{files.key}: the certificate in {files.certificate}, or its key, cannot be used: {reason or error}"


def _read(path: Path) -> str:
    """Return what is in a file. Raises TlsError: it cannot be read."""
    try:
        octets = read_octets(path, FILE_OCTETS_MAX)
    except OSError as error:
        raise TlsError(f"{path}: {error.strerror or error}") from None
    if len(octets) > FILE_OCTETS_MAX:
        raise TlsError(f"{path}: it has more than {FILE_OCTETS_MAX} octets")
    return octets.decode("latin-1")

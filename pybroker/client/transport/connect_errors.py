"""Why no broker could be reached, in a sentence for each address: the error, and the remedy."""

import socket
import ssl
from collections.abc import Iterable, Sequence
from typing import Final

from pybroker.client.errors import ClientError, ConnectFailed
from pybroker.client.options import Address

# OpenSSL's verify results (x509_vfy.h) for a certificate that is good and somebody else's.
_OTHER_NAME: Final = frozenset({62, 64})
_OURS_IS_MISSING: Final = frozenset({"TLSV13_ALERT_CERTIFICATE_REQUIRED", "SSLV3_ALERT_HANDSHAKE_FAILURE"})
_OURS_IS_REFUSED: Final = frozenset(
    {
        "TLSV1_ALERT_UNKNOWN_CA",
        "SSLV3_ALERT_BAD_CERTIFICATE",
        "SSLV3_ALERT_CERTIFICATE_EXPIRED",
        "SSLV3_ALERT_CERTIFICATE_REVOKED",
        "SSLV3_ALERT_CERTIFICATE_UNKNOWN",
        "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE",
    }
)


def connect_failed(failures: Iterable[tuple[Address, Exception]]) -> ConnectFailed:
    """Return the error that tells all of them; its `reason` is the last one."""
    told = tuple(failures)
    text = "; ".join(f"{address.host}:{address.port}: {explain(error)}" for address, error in told)
    return ConnectFailed(f"cannot connect to any broker: {text}", told[-1][1])


def last_word(failures: Sequence[tuple[Address, Exception]]) -> Exception:
    """Return the last error if a broker was there, else the one that tells all of them."""
    last = failures[-1][1]
    return last if isinstance(last, ClientError) else connect_failed(failures)


def explain(error: Exception) -> str:
    """Return what went wrong, with what to do where that is known: an option's name, and in brackets a URI's."""
    if isinstance(error, ssl.SSLCertVerificationError):
        message = error.verify_message.rstrip(".")
        if error.verify_code in _OTHER_NAME:
            return f"{message}: connect to a name in the certificate, or set server_name (server_name_indication)"
        return (
            f"the broker's certificate is not trusted, {message}: set ca_file (cacertfile) to the file of its authority"
        )
    if isinstance(error, ssl.SSLError):
        return _explain_tls(error)
    if isinstance(error, socket.gaierror):
        return f"the host's name could not be looked up ({error.strerror})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    return str(error) or "no answer in time"


def _explain_tls(error: ssl.SSLError) -> str:
    if error.reason == "WRONG_VERSION_NUMBER":
        return "this port does not use TLS: is it the port for amqp://?"
    if error.reason in _OURS_IS_MISSING:
        return (
            f"the broker requires a client certificate: set cert_file and key_file (certfile, keyfile): {error.reason}"
        )
    if error.reason in _OURS_IS_REFUSED:
        return f"the broker refuses the certificate in cert_file: {error.reason}"
    return str(error)

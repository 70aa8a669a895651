"""A failed connect says what happened at which address, and what to do."""

import copy
import pickle
import socket
import ssl

import pytest

import pybroker.client
from pybroker.client.errors import ClientError, ConnectFailed, ConnectionLost
from pybroker.client.options import Address
from pybroker.client.transport.connect_errors import connect_failed, explain

ASKED = "TLSV13_ALERT_CERTIFICATE_REQUIRED"


def tls_error(reason):
    error = ssl.SSLError(1, f"[SSL: {reason}] whatever")
    error.reason = reason
    return error


def distrust(code, message):
    error = ssl.SSLCertVerificationError(1, "whatever")
    error.verify_code, error.verify_message = code, message
    return error


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
        (FileNotFoundError(2, "No such file or directory", "/etc/ca.pem"), "/etc/ca.pem: No such file or directory"),
        (
            socket.gaierror(-2, "Name or service not known"),
            "the host's name could not be looked up (Name or service not known)",
        ),
        (TimeoutError(), "no answer in time"),
        (TimeoutError("timed out"), "timed out"),
        (ConnectionLost("the broker ended it"), "the broker ended it"),
        (tls_error("WRONG_VERSION_NUMBER"), "this port does not use TLS: is it the port for amqp://?"),
        (
            tls_error(ASKED),
            "the broker requires a client certificate: set cert_file and key_file (certfile, keyfile): " + ASKED,
        ),
        (
            tls_error("TLSV1_ALERT_UNKNOWN_CA"),
            "the broker refuses the certificate in cert_file: TLSV1_ALERT_UNKNOWN_CA",
        ),
        (
            distrust(10, "expired"),
            "the broker's certificate is not trusted, expired: set ca_file (cacertfile) to the file of its authority",
        ),
        (
            distrust(62, "Hostname mismatch."),
            "Hostname mismatch: connect to a name in the certificate, or set server_name (server_name_indication)",
        ),
    ],
)
def test_an_error_is_explained(error, text):
    assert explain(error) == text


def test_an_error_of_tls_that_is_not_known_is_told_as_it_is():
    assert "[SSL: SOMETHING_ELSE] whatever" in explain(tls_error("SOMETHING_ELSE"))


def test_all_addresses_are_told_and_the_last_error_is_the_reason():
    last = TimeoutError("timed out")
    error = connect_failed(
        [(Address("one", 1), ConnectionRefusedError(111, "Connection refused")), (Address("two", 2), last)]
    )
    assert str(error) == "cannot connect to any broker: one:1: Connection refused; two:2: timed out"
    assert error.reason is last
    assert str(pickle.loads(pickle.dumps(copy.copy(error)))) == str(error)


def test_it_is_the_librarys_error_and_pythons():
    with pytest.raises(ConnectFailed, match=r"127\.0\.0\.1:1: Connection refused; localhost:1: Connection refused$"):
        pybroker.client.connect("amqp://127.0.0.1:1/", "amqp://localhost:1/")
    assert issubclass(ConnectFailed, ClientError)
    assert issubclass(ConnectFailed, ConnectionError)

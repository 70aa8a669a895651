import pytest

from pybroker.client import Address, Tls
from pybroker.spark.credentials import client_options
from pybroker.spark.values import OptionError


def test_a_uri_says_all():
    uri = "amqp://me:pass@one:5673/v?heartbeat=7 amqp://two"
    options = client_options({"uri": uri, "connectionName": "job"}, "write")
    assert options.addresses == (Address("one", 5673), Address("two", 5672))
    assert (options.username, options.password, options.virtual_host) == ("me", "pass", "v")
    assert (options.heartbeat_s, options.connection_name) == (7, "job")


def test_secrets_come_from_files(tmp_path):
    file = tmp_path / "secret"
    file.write_text("amqp://me:s3cret@one\n")
    assert client_options({"uriFile": str(file)}, "read").password == "s3cret"
    file.write_text("p w\n")
    options = client_options({"host": "h", "username": "u", "passwordFile": str(file), "virtualHost": "/"}, "read")
    assert (options.addresses, options.username, options.password) == ((Address("h", 5672),), "u", "p w")


def test_tls_files_mean_tls_and_its_port():
    options = client_options({"tls.caFile": "/ca.pem", "tls.certFile": "/c.pem", "tls.keyFile": "/k.pem"}, "read")
    assert options.tls == Tls(ca_file="/ca.pem", cert_file="/c.pem", key_file="/k.pem")
    assert options.addresses == (Address("localhost", 5671),)


def test_tls_alone_trusts_the_systems_authorities():
    options = client_options({"tls": "true", "host": "h", "tls.serverName": "broker.example"}, "read")
    assert (options.tls, options.addresses) == (Tls(server_name="broker.example"), (Address("h", 5671),))
    assert client_options({"tls": "false"}, "read").tls is None


def test_a_certificate_logs_in_and_its_key_may_have_a_password(tmp_path):
    file = tmp_path / "secret"
    file.write_text("p w\n")
    given = {"authmechanism": "external", "tls.certFile": "/c.pem", "tls.keyPasswordFile": str(file)}
    options = client_options(given, "read")
    assert (options.auth_mechanism, options.tls) == ("EXTERNAL", Tls(cert_file="/c.pem", key_password="p w"))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"uri": "x", "uriFile": "y"}, "option uriFile and uri exclude each other"),
        ({"uri": "amqp://h", "host": "h"}, "option host and uri exclude each other: say it in the URI"),
        (
            {"uri": "http://h"},
            "option uri makes no sense: URI: must begin with amqp:// or amqps://, not ",
        ),
        ({"uri": ""}, "option uri makes no sense: "),
        ({"password": "a", "passwordFile": "b"}, "option passwordFile and password exclude each other"),
        (
            {"tls.keyPassword": "a", "tls.keyPasswordFile": "b"},
            "option tls.keyPasswordFile and tls.keyPassword exclude each other",
        ),
        ({"uri": "amqps://h", "tls": "true"}, "option tls and uri exclude each other: say it in the URI"),
        ({"tls": "x"}, "option tls is true or false, not 'x'"),
        ({"tls": "false", "tls.caFile": "a"}, "option tls is false, and options of TLS are given"),
        ({"authMechanism": "magic"}, "option authMechanism is plain or external, not 'magic'"),
        ({"authMechanism": "EXTERNAL", "tls": "true"}, "option authMechanism EXTERNAL needs tls.certFile: "),
        ({"port": "0"}, "option port must be an integer from 1 to 65535, not '0'"),
        ({"heartbeat": "x"}, "option heartbeat must be an integer from 0 to 65535, not 'x'"),
        ({"passwordFile": "/nowhere"}, "option passwordFile names /nowhere, which cannot be read: "),
    ],
)
def test_the_option_that_is_wrong_is_named(given, sentence):
    with pytest.raises(OptionError) as caught:
        client_options(given, "read")
    assert str(caught.value).startswith(sentence)

import pytest

from pybroker.control.spec import BadArguments, Refused
from pybroker.core.auth.certificate import NO_CERTIFICATE
from pybroker.core.auth.expiry import DAY_S, CertificateFile

CHECK = "check_certificate_expiration"


@pytest.fixture
def certificate(operator):
    """Return a certificate that begins and ends so many days from now."""
    now_s = operator.world.clock.timestamp_ms // 1000

    def certificate(subject: str, ends: float, begins: float = -1):
        starts_at, ends_at = (int(now_s + days * DAY_S) for days in (begins, ends))
        return NO_CERTIFICATE._replace(subject=subject, starts_at=starts_at, ends_at=ends_at)

    return certificate


def refusal(operator, **given) -> Refused:
    with pytest.raises(Refused) as refused:
        operator.ask(CHECK, **given)
    assert refused.value.exit_code == 69
    return refused.value


@pytest.mark.parametrize(
    ("given", "period"),
    [
        ({}, "4 weeks"),
        ({"within": 1}, "1 week"),
        ({"within": 1, "unit": "months"}, "1 month"),
        ({"within": 2, "unit": "YEARS"}, "2 years"),
        ({"within": 0, "unit": "days"}, "0 days"),
    ],
)
def test_a_node_without_tls_has_none_that_end(operator, given, period):
    assert operator.ask(CHECK, **given) == f"No certificates are expiring within {period}."


@pytest.mark.parametrize(
    ("days", "within", "unit", "fails"),
    [
        (27, 4, "weeks", True),
        (29, 4, "weeks", False),
        (30, 1, "months", True),
        (31, 1, "months", False),
        (364, 1, "years", True),
        (366, 1, "years", False),
        (6, 7, "days", True),
        (8, 7, "days", False),
        (-1, 0, "days", True),
    ],
)
def test_the_unit_counts_as_for_rabbitmq(operator, certificate, days, within, unit, fails):
    operator.daemon.certificate_files = (CertificateFile("/c.pem", (certificate("CN=one", days),)),)
    if fails:
        refusal(operator, within=within, unit=unit)
    else:
        operator.ask(CHECK, within=within, unit=unit)


def test_each_certificate_of_each_file_is_looked_at(operator, certificate):
    one, between, old = certificate("CN=one", 5), certificate("CN=between", 6), certificate("CN=old", -3)
    early, good = certificate("CN=early", 700, begins=2), certificate("CN=good", 400)
    operator.daemon.certificate_files = (
        CertificateFile("/c.pem", (one, between)),
        CertificateFile("/sni.pem", (early,), host="two.test"),
        CertificateFile("/good.pem", (good,), host="three.test"),
        CertificateFile("/ca.pem", (good, old), of_authorities=True),
    )
    operator.listen(("127.0.0.1", 5672), ("127.0.0.1", 5671))
    operator.world.broker.listeners[1].protocol = "amqp/ssl"
    refused = refusal(operator)
    assert refused.text.splitlines() == [
        f"/c.pem: CN=one expires on {one.end} UTC",
        f"/c.pem: CN=between expires on {between.end} UTC",
        f"/sni.pem: CN=early is not yet valid; it starts on {early.start} UTC",
        f"/ca.pem: CN=old has expired on {old.end} UTC",
    ]
    first, second, third = refused.facts["expired"]
    assert {key: first[key] for key in ("node", "protocol", "interface", "port", "certfile", "cacertfile")} == {
        "node": "pybroker@vm",
        "protocol": "amqp/ssl",
        "interface": "127.0.0.1",
        "port": 5671,
        "certfile": "/c.pem",
        "cacertfile": "/ca.pem",
    }
    assert first["certfile_expires_on"] == [one.end, between.end]
    assert first["cacertfile_expires_on"] == [old.end]
    not_yet = f"Certificate is not yet valid. It starts on {early.start}"
    assert (second["host"], second["certfile_expires_on"]) == ("two.test", [not_yet])
    assert (third["certfile"], third["certfile_expires_on"]) == ("/good.pem", [])


def test_certificates_of_https_are_those_of_its_listener(operator, certificate):
    one, other = certificate("CN=one", 5), certificate("CN=other", 6)
    operator.daemon.certificate_files = (
        CertificateFile("/c.pem", (one,)),
        CertificateFile("/web.pem", (other,), protocol="https"),
    )
    operator.daemon.web_settings["management"] = {"tls": {}, "tls_host": "::", "tls_port": 443}
    operator.listen(("127.0.0.1", 5671))
    operator.world.broker.listeners[0].protocol = "amqp/ssl"
    found = [
        (each["protocol"], each["interface"], each["port"], each["certfile"], each["certfile_expires_on"])
        for each in refusal(operator).facts["expired"]
    ]
    assert found == [
        ("amqp/ssl", "127.0.0.1", 5671, "/c.pem", [one.end]),
        ("https", "::", 443, "/web.pem", [other.end]),
    ]


def test_a_unit_that_does_not_exist_is_refused_in_rabbitmqs_words(operator):
    text = "unit 'centuries' is not supported. Please use one of: days, weeks, months, years"
    with pytest.raises(BadArguments) as refused:
        operator.ask(CHECK, unit="centuries")
    assert (refused.value.text, refused.value.exit_code) == (text, 64)

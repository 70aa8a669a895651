import logging

import pytest

from pybroker.core.auth.certificate import NO_CERTIFICATE, Certificate
from pybroker.core.auth.expiry import DAY_S, CertificateFile, Expiry
from tests.fakes import World

DAY_MS = DAY_S * 1000


def certificate(world: World, days: int, subject: str = "CN=one") -> Certificate:
    """Return a certificate that ends so many days from now."""
    return NO_CERTIFICATE._replace(subject=subject, ends_at=world.clock.timestamp_ms // 1000 + days * DAY_S)


@pytest.fixture
def expiry(world) -> Expiry:
    return Expiry(world.broker)


@pytest.fixture
def world() -> World:
    return World()


def pass_days(world: World, expiry: Expiry, days: int) -> None:
    """Look every six hours."""
    for _ in range(4 * days):
        world.clock.advance(DAY_MS // 4)
        expiry.check()


def test_operators_are_told_30_and_7_days_before_and_at_the_end_once_each(world, expiry, caplog):
    one = certificate(world, 100)
    expiry.replace([CertificateFile("/one.pem", (one,))])
    pass_days(world, expiry, 69)
    assert (caplog.messages, world.broker.notices) == ([], [])
    when = f"({one.end} UTC): replace it"
    for days, text, level in (
        (10, "expires in less than 30 days", logging.WARNING),
        (20, "expires in less than 7 days", logging.WARNING),
        (10, "has expired", logging.ERROR),
    ):
        caplog.clear()
        pass_days(world, expiry, days)
        assert caplog.messages == world.broker.notices == [f"The certificate CN=one in /one.pem {text} {when}"]
        assert [level] == [record.levelno for record in caplog.records]


def test_one_that_is_late_already_is_told_of_at_once(world, expiry, caplog):
    late, soon = certificate(world, -1), certificate(world, 3, "CN=soon")
    expiry.replace([CertificateFile("/a.pem", (late, soon), of_authorities=True)])
    assert caplog.messages == world.broker.notices
    [expired, expiring] = caplog.messages
    assert expired.startswith("The authority's certificate CN=one in /a.pem has expired (")
    assert expiring.startswith("The authority's certificate CN=soon in /a.pem expires in less than 7 days (")


def test_a_file_of_two_protocols_is_told_of_once(world, expiry, caplog):
    one = certificate(world, 3)
    other = Expiry(world.broker)
    for each, protocol in ((expiry, "amqp/ssl"), (other, "https")):
        each.replace([CertificateFile("/one.pem", (one,), protocol=protocol)])
    assert len(caplog.messages) == len(world.broker.notices) == 1
    for each in (expiry, other):
        each.replace([])
    assert world.broker.notices == []


def test_a_notice_is_withdrawn_when_the_certificate_is_replaced(world, expiry, caplog):
    other = CertificateFile("/other.pem", (certificate(world, 20, "CN=other"),))
    expiry.replace([CertificateFile("/one.pem", (certificate(world, 5),)), other])
    assert 2 == len(world.broker.notices)
    caplog.clear()
    expiry.replace([CertificateFile("/one.pem", (certificate(world, 365),)), other])
    assert ["CN=other" in notice for notice in world.broker.notices] == [True]
    assert caplog.messages == []  # not told again of what stays
    expiry.replace([])
    assert world.broker.notices == []

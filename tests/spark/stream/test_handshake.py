"""The steps of a handshake with a broker that answers what the test says."""

import dataclasses

import pytest

from pybroker.client import Address, Options
from pybroker.client.errors import AuthenticationFailed
from pybroker.spark.stream.errors import StreamError
from pybroker.spark.stream.handshake import shake_hands
from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import Key
from pybroker.wire.stream.fields import Versions, pairs_octets, texts_octets, versions_octets


class FakeLink:
    """Notes what is sent, and has an answer, or a code that is an error, for each kind of request."""

    def __init__(self, version: str = "3.13.0", **answers: object) -> None:
        self.sent: list[object] = []
        self.answers = {
            "PeerProperties": pairs_octets({"version": version}),
            "SaslHandshake": texts_octets(["PLAIN"]),
            "Open": pairs_octets({"advertised_host": "node-1", "advertised_port": "5552"}),
            "ExchangeCommandVersions": versions_octets([Versions(Key.STREAM_STATS, 1, 1)]),
            **answers,
        }

    def call(self, made, *values):
        self.sent.append((made.__name__, *values))
        answer = self.answers.get(made.__name__, b"")
        if isinstance(answer, int):
            raise StreamError(made.__name__, answer)
        return answer

    def tuned(self):
        return commands.Tune(1_000, 60)

    def send(self, command):
        self.sent.append(command)


def test_what_was_agreed_on():
    link = FakeLink()
    agreed = shake_hands(link, Options(username="me", password="secret", virtual_host="v", heartbeat_s=20))
    assert (1_000, 20, Address("node-1", 5552), {Key.STREAM_STATS}) == (
        agreed.frame_octets_max,
        agreed.heartbeat_s,
        agreed.advertised,
        agreed.keys,
    )
    assert ("SaslAuthenticate", "PLAIN", b"\0me\0secret") in link.sent
    assert commands.Tune(1_000, 20) in link.sent
    assert ("Open", "v") in link.sent


def test_a_broker_that_knows_no_versions_is_not_asked():
    link = FakeLink("3.10.8", ExchangeCommandVersions=13)
    keys = shake_hands(link, Options(heartbeat_s=0)).keys
    assert Key.PARTITIONS in keys
    assert keys.isdisjoint({Key.STREAM_STATS, Key.RESOLVE_OFFSET_SPEC})
    assert commands.Tune(1_000, 0) in link.sent


@pytest.mark.parametrize("code", [8, 11])
def test_a_refused_login_is_told_apart(code):
    with pytest.raises(AuthenticationFailed, match=f"'guest'.*code {code}"):
        shake_hands(FakeLink(SaslAuthenticate=code), Options())
    with pytest.raises(StreamError, match="code 15"):
        shake_hands(FakeLink(SaslAuthenticate=15), Options())


def test_a_mechanism_must_be_offered():
    options = dataclasses.replace(Options(), auth_mechanism="EXTERNAL")
    with pytest.raises(AuthenticationFailed, match="offers PLAIN, not EXTERNAL"):
        shake_hands(FakeLink(), options)


def test_an_address_may_not_be_advertised():
    assert shake_hands(FakeLink(Open=pairs_octets({})), Options()).advertised is None

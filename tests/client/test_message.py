"""Messages decode their properties when these are looked at."""

import pytest

from pybroker.client.message import Message, ReturnedMessage
from pybroker.wire.properties import Properties, encode_properties
from pybroker.wire.table import Table

PROPERTIES = Properties(content_type="text/plain", headers=Table({"a": 1}), delivery_mode=2)


class FakeChannel:
    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        return lambda *arguments: self.calls.append((name, *arguments))


@pytest.fixture
def channel():
    return FakeChannel()


@pytest.fixture
def message(channel):
    return Message(channel, b"body", encode_properties(PROPERTIES), "e", "k", 7, False, consumer_tag="c")


def test_properties_are_those_that_were_sent(message):
    assert message.properties == PROPERTIES
    assert message.properties is message.properties
    returned = ReturnedMessage(312, "NO_ROUTE", "e", "k", message.property_octets, b"body")
    assert returned.properties == PROPERTIES
    assert "NO_ROUTE" in repr(returned)


def test_a_message_settles_itself_on_its_channel(message, channel):
    message.ack()
    message.ack(multiple=True)
    message.nack(requeue=False)
    message.reject()
    assert channel.calls == [
        ("basic_ack", 7, False),
        ("basic_ack", 7, True),
        ("basic_nack", 7, False, False),
        ("basic_reject", 7, True),
    ]


def test_a_message_says_where_it_is_from(message):
    assert repr(message) == "<Message 7 exchange='e' routing_key='k' body=4 octets>"

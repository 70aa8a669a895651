"""The number of a transaction in the headers of its first message."""

import pytest

from pybroker.core.channel.publisher_sequence import (
    PUBLISHER,
    PUBLISHER_OCTETS_MAX,
    SEQUENCE,
    SEQUENCE_MAX,
    PublisherSequence,
    sequence_of,
)
from pybroker.errors import PreconditionFailed
from tests.contents import content


def message(**headers):
    return content(b"body", headers={name.replace("_", "-"): value for name, value in headers.items()})


def test_most_messages_have_none():
    assert sequence_of(content(b"x-pybroker-sequence")) is None
    assert sequence_of(message(other="x-pybroker-sequence")) is None


@pytest.mark.parametrize("number", [0, 7, SEQUENCE_MAX])
def test_both_headers_are_a_number(number):
    found = sequence_of(message(x_pybroker_publisher="p", x_pybroker_sequence=number, other=1))
    assert PublisherSequence("p", number) == found


@pytest.mark.parametrize("publisher", [None, "", 7, "n" * (PUBLISHER_OCTETS_MAX + 1)])
def test_a_publisher_has_a_name(publisher):
    headers = {} if publisher is None else {"x_pybroker_publisher": publisher}
    with pytest.raises(PreconditionFailed) as caught:
        sequence_of(message(x_pybroker_sequence=1, **headers))
    assert f"{PUBLISHER} must be a string of 1 to 255 octets" == caught.value.text


@pytest.mark.parametrize("sequence", [None, -1, "1", 1.0, True])
def test_a_sequence_is_an_integer(sequence):
    headers = {} if sequence is None else {"x_pybroker_sequence": sequence}
    with pytest.raises(PreconditionFailed) as caught:
        sequence_of(message(x_pybroker_publisher="p", **headers))
    assert f"{SEQUENCE} must be an integer that is not negative" == caught.value.text

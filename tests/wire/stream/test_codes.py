"""The numbers of the protocol, as its reference has them."""

from pybroker.wire.stream.codes import RESPONSE, Code, Key, OffsetType


def test_keys_and_codes_are_those_of_the_reference():
    assert (1, 8, 23, 28) == (Key.DECLARE_PUBLISHER, Key.DELIVER, Key.HEARTBEAT, Key.STREAM_STATS)
    assert 0x8015 == Key.OPEN | RESPONSE
    # Nobody is asked for more than one response.
    assert [each for each in range(1, 22) if each != 10] == [*Code]
    assert list(range(1, 6)) == [*OffsetType]

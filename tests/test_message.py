import pytest

from pybroker.message import Message
from pybroker.run import Run
from tests.contents import content, run


def test_a_message_is_one_of_a_run():
    messages = run(b"a", b"b", b"c", first_seq=10)
    message = Message(messages, 1)
    assert (message.seq, message.body, message.deliveries) == (11, b"b", 0)
    assert (message.names, message.attributes) == (messages.names, messages.attributes)
    assert message.content == content(b"b")


@pytest.mark.parametrize("size", [0, 1, 4_087, 4_088, 4_089, 20_000])
def test_a_body_is_put_together_from_its_frames(size):
    octets = bytes(i & 0xFF for i in range(size))
    whole = content(octets, frame_octets_max=4_096)
    messages = Run(run(b"").names, run(b"").attributes, 1, [whole], len(whole), size, size, 0)
    assert Message(messages, 0).body == octets


def test_the_property_octets_are_those_of_the_header_frame():
    whole = content(b"x", message_id="7", priority=3)
    messages = Run(run(b"").names, run(b"").attributes, 1, [whole], len(whole), 1, 1, 0)
    flags = 1 << 11 | 1 << 7  # priority, message-id
    assert Message(messages, 0).property_octets == flags.to_bytes(2) + b"\x03" + b"\x017"

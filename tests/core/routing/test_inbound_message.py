from pybroker.core.routing.inbound_message import InboundMessage
from pybroker.core.routing.publish import names_of
from pybroker.run import PLAIN_ATTRIBUTES
from pybroker.wire.properties import Properties, encode_properties


def test_its_properties_are_those_of_its_content_header():
    octets = encode_properties(Properties(message_id="m"))
    content = b"\2\0\1" + (12 + len(octets)).to_bytes(4) + bytes(12) + octets + b"\xce" + b"\3\0\1\0\0\0\0\xce"
    assert octets == InboundMessage(names_of("x", "k"), PLAIN_ATTRIBUTES, content, 1, 0).property_octets

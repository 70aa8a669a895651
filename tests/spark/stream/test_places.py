"""The answer to Metadata is read as the places of streams."""

from struct import pack

from pybroker.client.options import Address
from pybroker.spark.stream.places import Place, read_metadata
from pybroker.wire.stream.codes import Code


def text(value):
    return pack(">H", len(value)) + value.encode()


def test_a_stream_has_a_leader_and_replicas_or_is_nowhere():
    nodes = pack(">L", 2) + pack(">H", 4) + text("a") + pack(">L", 5552) + pack(">H", 9) + text("b") + pack(">L", 5553)
    orders = text("orders") + pack(">HHLHH", Code.OK, 4, 2, 9, 7)  # 7 is no node that was named
    gone = text("gone") + pack(">HHL", Code.STREAM_DOES_NOT_EXIST, 65535, 0)
    assert read_metadata(nodes + pack(">L", 2) + orders + gone) == {
        "orders": Place(Code.OK, Address("a", 5552), (Address("b", 5553),)),
        "gone": Place(Code.STREAM_DOES_NOT_EXIST, None, ()),
    }

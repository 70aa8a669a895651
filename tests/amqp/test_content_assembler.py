"""A content that arrives frame by frame: whole at the end, bounded meanwhile."""

from pamqp import body, header

from pybroker.amqp.content_assembler import PARTS_MAX, ContentAssembler
from pybroker.core.routing.publish import Route, names_of
from pybroker.wire.frame import BODY, HEADER, frame
from tests.fakes import Basic

PUBLISH = Basic.Publish(0, "", "q")


def test_it_is_the_frames_as_they_came_without_empty_ones_and_no_more_than_was_announced():
    assembly = ContentAssembler(Route(1, names_of("", "q"), mandatory=False, immediate=False))
    head = b"\0\x3c\0\0" + (5).to_bytes(8) + b"\0\0"
    assembly.begin(1, head)
    first, empty, last = (frame(BODY, 1, octets) for octets in (b"abc", b"", b"de"))
    assert [True, True] == [assembly.add(first, 11), assembly.add(empty, 11)]
    assert (False, 2) == (assembly.add(frame(BODY, 1, b"def"), 11), assembly.remaining)
    assert (True, 0) == (assembly.add(last, 11), assembly.remaining)
    assert frame(HEADER, 1, head) + first + last == assembly.content()


def test_a_body_frame_above_frame_max_is_cut():
    assembly = ContentAssembler(Route(1, names_of("", "q"), mandatory=False, immediate=False))
    head = b"\0\x3c\0\0" + (6).to_bytes(8) + b"\0\0"
    assembly.begin(1, head)
    assert assembly.add(frame(BODY, 1, b"abcdef"), 12)
    assert frame(HEADER, 1, head) + frame(BODY, 1, b"abcd") + frame(BODY, 1, b"ef") == assembly.content()


def test_a_body_of_very_small_frames_is_not_kept_as_so_many_objects(peer):
    peer.declare("q")
    bodies = [body.ContentBody(b"x")] * 5_000
    peer.send(PUBLISH, header.ContentHeader(0, 5_001, Basic.Properties()), *bodies)
    assembly = peer.session.channels[1].assembly
    assert assembly is not None
    assert len(assembly.parts) + len(assembly.blocks) <= PARTS_MAX + 5
    peer.send(body.ContentBody(b"y"))
    assert peer.get("q").body == b"x" * 5_000 + b"y"

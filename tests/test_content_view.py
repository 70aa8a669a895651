"""A content's octets, against what built them."""

import pytest
from hypothesis import given, strategies as st

from pybroker import content_view
from pybroker.wire.properties import Properties, decode_properties, encode_properties
from tests.contents import content

BODIES = st.binary(max_size=9_000)


@given(body=BODIES, frame_octets_max=st.sampled_from([4_096, 131_072]))
def test_a_body_and_its_size(body, frame_octets_max):
    whole = content(body, frame_octets_max=frame_octets_max)
    assert (content_view.body(whole), content_view.body_size(whole)) == (body, len(body))
    assert [len(body)] * 2 == content_view.body_sizes([whole, whole])


@given(body=BODIES, frame_octets_max=st.sampled_from([4_096, 131_072]), octets_max=st.integers(0, 9_100))
def test_the_start_of_a_body(body, frame_octets_max, octets_max):
    whole = content(body, frame_octets_max=frame_octets_max)
    assert content_view.body_start(whole, octets_max) == body[:octets_max]


@given(body=BODIES, message_id=st.text(max_size=80))
def test_other_properties_leave_the_body(body, message_id):
    octets = encode_properties(Properties(message_id=message_id, priority=4))
    changed = content_view.with_properties(content(body, reply_to="t"), octets)
    assert content_view.property_octets(changed) == octets
    assert (content_view.body(changed), content_view.body_size(changed)) == (body, len(body))
    assert decode_properties(octets).message_id == message_id


@pytest.mark.parametrize(("properties", "flags"), [({}, 0), ({"content_type": "x"}, 0x80), ({"headers": {}}, 0x20)])
def test_the_first_flags(properties, flags):
    assert content_view.first_property_flags(content(b"", **properties)) == flags


@given(
    body=BODIES,
    frame_octets_max=st.sampled_from([4_096, 131_072]),
    octets_max=st.integers(0, 9_100),
    part_octets=st.integers(1_000, 9_100),
)
def test_a_body_in_parts(body, frame_octets_max, octets_max, part_octets):
    whole = content(body, frame_octets_max=frame_octets_max)
    wanted = body[:octets_max]
    parts = [wanted[at : at + part_octets] for at in range(0, len(wanted), part_octets)]
    assert parts == list(content_view.body_parts(whole, octets_max, part_octets))


def test_many_are_taken_into_properties_and_bodies():
    kinds = [{}, {"delivery_mode": 2}, {"delivery_mode": 1}, {"reply_to": "t"}]
    several = [content(octets, **kind) for kind in kinds for octets in (b"", b"a", b"bc", b"d" * 300)]
    several.append(content(bytes(9_000), frame_octets_max=4_096))
    several += several[::-1]
    expected = [(content_view.property_octets(each), content_view.body(each)) for each in several]
    assert list(content_view.parts(several)) == expected

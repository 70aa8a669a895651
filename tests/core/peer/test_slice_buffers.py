"""Room for slices is used again, and little of it is kept."""

from pybroker.core.peer.slice_buffers import SLICE_OCTETS, SPARE_MAX, SliceBuffers


def test_room_that_came_back_is_lent_first():
    buffers = SliceBuffers()
    one, other = buffers.borrow(), buffers.borrow()
    assert one is not other
    assert (len(one), one.readonly) == (SLICE_OCTETS, False)
    buffers.give_back(one)
    assert buffers.borrow() is one


def test_little_room_is_kept():
    buffers = SliceBuffers()
    lent = [buffers.borrow() for _ in range(SPARE_MAX + 1)]
    for each in lent:
        buffers.give_back(each)
    again = [buffers.borrow() for _ in lent]
    assert sum(any(each is other for other in lent) for each in again) == SPARE_MAX

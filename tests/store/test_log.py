"""store/log.py: the seam to a group's log. Seqs are the base class's; what lasts is the engine's."""

import pytest

from pybroker.store.log import Log


def test_seqs_are_taken_once():
    log = Log()
    assert (1, 4, 5) == (log.take(3), log.take(1), log.next_seq)


def test_what_lasts_is_for_an_engine_to_say():
    with pytest.raises(NotImplementedError):
        Log().append(None, range(1), (1,))
    with pytest.raises(NotImplementedError):
        Log().settle(1, None, range(1))

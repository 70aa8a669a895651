from pybroker.control.explain.reason import Reason


def test_what_is_not_counted_has_no_octets():
    reason = Reason("memory", "memory", "the alarm is over", "nothing, it goes on")
    assert (None, None) == (reason.octets, reason.octets_max)

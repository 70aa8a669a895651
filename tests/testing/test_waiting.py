from pybroker.testing.waiting import wait_for


def test_a_condition_that_is_met_at_once_is_looked_at_once():
    looks = []
    assert wait_for(lambda: looks.append(1) or "found", bool, 0.0) == "found"
    assert looks == [1]


def test_it_waits_until_the_condition_is_met():
    values = iter([0, 0, 3])
    assert wait_for(lambda: next(values), bool, 60.0) == 3


def test_the_last_result_is_returned_when_the_time_is_over():
    assert wait_for(lambda: "never", lambda _: False, 0.01) == "never"

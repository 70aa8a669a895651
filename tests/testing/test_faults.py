from pybroker.testing import Fault


def test_a_fault_ends_once():
    ends = []
    fault = Fault("it rains", lambda: ends.append(1))
    assert fault.active
    fault.end()
    fault.end()
    assert ends == [1]
    assert not fault.active
    assert repr(fault) == "<Fault: it rains, ended>"


def test_it_ends_with_its_block():
    ends = []
    with Fault("it rains", lambda: ends.append(1)) as fault:
        assert repr(fault) == "<Fault: it rains>"
        assert ends == []
    assert ends == [1]

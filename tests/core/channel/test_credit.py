"""Messages accepted from a peer and not yet on disk, against a plain list."""

from hypothesis import given, strategies as st

from pybroker.core.channel import credit as module
from pybroker.core.channel.credit import PEER_OCTETS_MAX
from pybroker.core.channel.receipt import Receipt
from pybroker.core.channel.throttle import JOURNAL
from pybroker.store.log import Log
from pybroker.store.memory import MemoryLog
from tests.readers import Peer
from tests.topology import new_vhost

steps = st.lists(
    st.tuples(st.booleans(), st.integers(0, 3), st.integers(1, PEER_OCTETS_MAX // 2), st.integers(1, 3)), max_size=30
)


def receipt_of(*waits: tuple[Log, int]) -> Receipt:
    receipt = Receipt()
    for log, position in waits:
        receipt.wait(log, position)
    return receipt


@given(steps)
def test_it_is_what_was_accepted_and_is_not_completed_by_log(steps):
    session = Peer(new_vhost())
    broker, credit, owed = session.broker, session.credit, []
    logs = {1: broker.log, 2: MemoryLog()}
    last = dict.fromkeys(logs, 1)
    for publishes, forward, octets, which in steps:
        mine = {number: log for number, log in logs.items() if number & which}
        for number, log in mine.items():
            done = log.completed
            if publishes:
                last[number] = max(last[number] + forward, done + 1)
                owed.append((log, last[number], octets))
            else:
                broker.log_completed(min(done + forward, last[number]), log)
        if publishes:
            credit.charge(receipt_of(*((log, last[number]) for number, log in mine.items())), octets)
        total = sum(octets for log, at, octets in owed if at > log.completed)
        assert total == credit.octets
        if total > PEER_OCTETS_MAX:
            assert not session.readable
        elif total <= PEER_OCTETS_MAX // 2 and not publishes:
            assert session.readable
        assert session.readable == (JOURNAL not in session.throttle.causes) == (credit not in broker.ahead)
        assert sum(map(len, credit._batches.values())) <= sum(last[n] - log.completed for n, log in logs.items())


def test_all_peers_together_are_too_much_for_each_log_alone():
    session = Peer(new_vhost())
    broker, full = session.broker, MemoryLog()
    full.uncommitted_octets = full.uncommitted_octets_max + 1
    session.credit.charge(receipt_of((broker.log, 1)), 10)
    assert session.readable
    session.credit.charge(receipt_of((broker.log, 1), (full, 1)), 10)
    broker.log_completed(1)
    broker.log_completed(1, full)
    assert not session.readable
    full.uncommitted_octets = full.uncommitted_octets_max // 2
    broker.log_completed(2)
    assert session.readable


def test_a_log_that_failed_holds_nobody():
    session = Peer(new_vhost())
    broker, broken = session.broker, MemoryLog()
    session.credit.charge(receipt_of((broken, 1), (broker.log, 1)), PEER_OCTETS_MAX)
    assert not session.readable
    broker.log_failed("Input/output error", broken)
    assert (True, {}) == (session.readable, broker.ahead)


def test_a_completed_position_costs_who_is_not_stopped_nothing(monkeypatch):
    session = Peer(new_vhost())
    session.credit.charge(receipt_of((session.broker.log, 1)), 10)
    monkeypatch.setattr(module.Credit, "check", lambda self: 1 / 0)
    session.broker.log_completed(1)

"""What a peer has had accepted and is not on disk, against a plain list."""

from hypothesis import given, strategies as st
from readers import Peer
from topology import new_vhost

from pybroker.core import credit as module
from pybroker.core.credit import PEER_OCTETS_MAX
from pybroker.core.throttle import JOURNAL

steps = st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.integers(1, PEER_OCTETS_MAX // 2)), max_size=30)


@given(steps)
def test_it_is_what_was_accepted_and_is_not_completed(steps):
    session = Peer(new_vhost())
    broker, credit, owed, ticket = session.broker, session.credit, [], 1
    for publishes, forward, octets in steps:
        done = broker.log.completed
        if publishes:
            ticket = max(ticket + forward, done + 1)
            credit.take(ticket, octets)
            owed.append((ticket, octets))
        else:
            broker.log_completed(min(done + forward, ticket))
        total = sum(octets for at, octets in owed if at > broker.log.completed)
        assert total == credit.octets
        if total > PEER_OCTETS_MAX:
            assert not session.readable
        elif total <= PEER_OCTETS_MAX // 2 and not publishes:
            assert session.readable
        assert session.readable == (JOURNAL not in session.throttle.causes) == (credit not in broker.ahead)
        assert len(credit._batches) <= ticket - broker.log.completed


def test_a_completed_ticket_costs_who_is_not_stopped_nothing(monkeypatch):
    session = Peer(new_vhost())
    session.credit.take(1, 10)
    monkeypatch.setattr(module.Credit, "look", lambda self: 1 / 0)
    session.broker.log_completed(1)

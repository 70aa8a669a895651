"""What a peer has had accepted and is not on disk, against a plain list."""

from hypothesis import given, strategies as st

from pybroker.core.credit import Credit

steps = st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.integers(1, 1_000)), max_size=30)


@given(steps)
def test_it_is_what_was_accepted_and_is_not_completed(steps):
    credit, owed, ticket, done = Credit(), [], 1, 0
    for publishes, forward, octets in steps:
        if publishes:
            ticket = max(ticket + forward, done + 1)
            credit.owe(ticket, octets)
            owed.append((ticket, octets))
        else:
            done = min(done + forward, ticket)
            credit.completed(done)
        assert sum(octets for at, octets in owed if at > done) == credit.octets


def test_what_will_never_be_completed_is_forgotten():
    credit = Credit()
    credit.owe(1, 10)
    credit.clear()
    credit.completed(1)
    assert 0 == credit.octets

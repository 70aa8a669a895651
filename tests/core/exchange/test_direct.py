from hypothesis import given, strategies as st

from tests.topology import exchange, link, new_vhost, queue, reached

KEYS = st.sampled_from(["", "a", "A", "a.b", "*", "#", "é"])


@given(st.lists(st.tuples(st.integers(0, 3), KEYS), max_size=12), KEYS)
def test_keys_that_are_equal_match_and_no_others(bindings, key):
    vhost = new_vhost()
    exchange(vhost, "x")
    for number in range(4):
        queue(vhost, f"q{number}")
    for number, bound in bindings:
        link(vhost, "x", f"q{number}", bound)
    assert reached(vhost, "x", key) == sorted({f"q{number}" for number, bound in bindings if bound == key})


def test_several_keys_are_several_chances():
    vhost = new_vhost()
    exchange(vhost, "x")
    for name in "abc":
        queue(vhost, name)
        link(vhost, "x", name, name)
    assert reached(vhost, "x", "a", "b", "z") == ["a", "b"]

import pytest

from pybroker.control.arguments.nearest import NAMES_COMPARED_MAX, nearest


@pytest.mark.parametrize(
    ("name", "expected"),
    [("ordres", ". Did you mean 'orders'?"), ("ORDERS", ". Did you mean 'orders'?"), ("zzz", "")],
)
def test_the_nearest_name_is_offered_if_it_is_near(name, expected):
    assert nearest(name, ["payments", "orders"]) == expected


def test_a_hint_looks_at_a_limited_number_of_names():
    names = (f"n{i}" for i in range(10 * NAMES_COMPARED_MAX))
    nearest("nosuch", names)
    assert next(names) == f"n{NAMES_COMPARED_MAX}"

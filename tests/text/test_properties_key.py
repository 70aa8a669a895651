"""Texts that tell bindings apart."""

import pytest
from hypothesis import given, strategies as st

from pybroker.text.properties_key import is_same, properties_key


@pytest.mark.parametrize(
    ("routing_key", "expected"), [("", "~"), ("a.b", "a.b"), ("a b", "a+b"), ("a~/#", "a%7E%2F%23")]
)
def test_without_arguments_it_is_the_escaped_routing_key(routing_key, expected):
    assert properties_key(routing_key, b"") == expected


def test_arguments_are_hashed():
    keys = {properties_key(key, octets) for key in ("", "k") for octets in (b"", b"x", b"y")}
    assert len(keys) == 6
    assert properties_key("k", b"x").startswith("k~")


@given(st.text(), st.text(), st.binary(max_size=4), st.binary(max_size=4))
def test_two_are_the_same_only_of_equal_bindings(one, other, its, others):
    assert is_same(properties_key(one, its), properties_key(other, others)) == ((one, its) == (other, others))


def test_a_part_of_a_path_may_be_escaped_once():
    assert is_same("a.%23", "a.#")
    assert not is_same("a.%23", "a.#~x")

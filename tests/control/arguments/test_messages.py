import pytest

from pybroker.control.arguments.messages import check_body_size, check_count, conditions, position, start_in
from pybroker.control.spec import BadArguments, Refused
from tests.readers import Bench


@pytest.mark.parametrize(
    ("word", "place"),
    [
        ("head", "head"),
        ("tail", "tail"),
        ("17", (None, 17)),
        ("0", (None, 0)),
        ("5:17", (5, 17)),
        (str((1 << 63) - 1), (None, (1 << 63) - 1)),
    ],
)
def test_a_position_is_an_end_or_a_place(word, place):
    assert place == position(word)


@pytest.mark.parametrize(
    "word", ["", "Head", "-1", "1.5", "a:1", "1:", ":1", "300:1", "9" * 19, "9" * 99, "1:2:3", "²"]
)
def test_anything_else_is_none(word):
    with pytest.raises(BadArguments) as refused:
        position(word)
    assert refused.value.exit_code == 65


def test_a_queue_with_priorities_wants_them_in_a_position():
    plain, levels = Bench().queue, Bench(x_max_priority=5).queue
    assert [(0, 17), "tail"] == [start_in(plain, place) for place in ((None, 17), "tail")]
    assert [(5, 17), "head"] == [start_in(levels, place) for place in ((5, 17), "head")]
    with pytest.raises(Refused, match="PRIORITY:SEQ"):
        start_in(levels, (None, 17))


def test_conditions_have_a_header_and_a_value():
    assert [("a", "1"), ("b", ""), ("c", "x=y")] == conditions(("a=1", "b=", "c=x=y"))
    for word in ("a", "=1", ""):
        with pytest.raises(BadArguments, match="HEADER=VALUE"):
            conditions((word,))


@pytest.mark.parametrize("octets", [-1, 16_777_217])
def test_body_sizes_have_a_limit(octets):
    check_body_size(0)
    with pytest.raises(BadArguments):
        check_body_size(octets)


@pytest.mark.parametrize("count", [-1, 0, 6])
def test_counts_have_limits(count):
    check_count(5, 5)
    with pytest.raises(BadArguments):
        check_count(count, 5)

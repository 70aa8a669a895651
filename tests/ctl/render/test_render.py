import pytest

from pybrokerctl import render


@pytest.mark.parametrize("name", render.NAMES)
def test_every_formatter_has_the_same_shape(name):
    formatter = render.load(name)
    head = render.Head(("n",))
    assert "".join(formatter.rows(head, [[[1]], [], [[2]]])).count("1") == 1
    assert "".join(formatter.value("text", "node")).count("text") == 1
    assert "".join(formatter.value({"key": {"inner": [1]}}, "node")).count("inner") == 1


def test_only_what_is_in_the_table_is_loaded():
    with pytest.raises(AssertionError):
        render.load("cell")


def test_machines_read_json_and_csv():
    assert render.MACHINE == {"json", "csv"}

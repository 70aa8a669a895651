"""The lines of an answer, part by part."""

from pybroker.control.answers import end_lines, error_line, part_lines
from pybroker.control.execute import Listed, Rows, SendLines, Value
from pybroker.control.spec import Column, Early, Progress, Refused

COLUMNS = (Column("name", lambda noun: noun, "a name"),)


def test_the_first_slice_has_the_header():
    assert part_lines(Rows(COLUMNS, ["a", "b"], first=True)) == b'{"columns":["name"]}\n["a"]\n["b"]\n'
    assert part_lines(Rows(COLUMNS, ["c"], first=False)) == b'["c"]\n'


def test_a_slice_may_be_empty():
    assert part_lines(Rows(COLUMNS, [], first=True)) == b'{"columns":["name"]}\n'
    assert part_lines(Rows(COLUMNS, [], first=False)) == b""


def test_a_field_table_is_told_with_its_types():
    columns = (Column("arguments", lambda noun: noun, "a table", table=True),)
    assert part_lines(Rows(columns, [{"a": 1}], first=False)) == b'[[["a","signedint",1]]]\n'


def test_what_is_said_meanwhile_is_one_line_each():
    assert part_lines(Progress(1, 2)) == b'{"progress":[1,2]}\n'
    assert part_lines(Early({"held": 1})) == b'{"value":{"held":1}}\n'
    assert part_lines(SendLines()) == b'{"send":"lines"}\n'


def test_the_end_has_the_value_or_the_number_of_rows():
    assert end_lines(Listed(3)) == b'{"end":3}\n'
    assert end_lines(Listed(3, {"left": 2})) == b'{"end":3,"facts":{"left":2}}\n'
    assert end_lines(Value("done")) == b'{"value":"done"}\n{"end":0}\n'


def test_a_refusal_is_one_line():
    assert error_line(Refused("no", 64)) == b'{"error":{"text":"no","exit_code":64}}\n'

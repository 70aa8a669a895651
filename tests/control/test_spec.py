from typing import Annotated, Any, NamedTuple

import pytest

from pybroker.control import commands, spec
from pybroker.control.spec import Arg, BadArguments, Column, Command


class Args(NamedTuple):
    name: Annotated[str, Arg("a name")]
    size: Annotated[int, Arg("a size", metavar="n")] = 1
    columns: Annotated[tuple[str, ...], Arg("columns", metavar="column")] = ()
    fast: Annotated[bool, Arg("quickly", "-f --fast")] = False
    limit: Annotated[int, Arg("at most", "--limit")] = 0
    unit: Annotated[str, Arg("unit", "--unit", choices=("kb", "mb"))] = "mb"
    file: Annotated[str | None, Arg("a file", "--file")] = None


COLUMNS = (Column("a", lambda row: row[0], "first"), Column("b", lambda row: row[1], "second"))
COMMAND = Command("test", "Tests", "Tests", Args, "read", "none", lambda _node, _args: [], COLUMNS, ("b",))


def command(args: type[Any]) -> Command:
    return Command("test", "Tests", "Tests", args, "write", "none", lambda _node, _args: None)


def refusal(call, *args):
    with pytest.raises(BadArguments) as refused:
        call(*args)
    return refused.value.exit_code, refused.value.text


def test_fields_are_read_off_the_annotations():
    fields = {field.name: field for field in COMMAND.fields()}
    assert [name for name, field in fields.items() if field.required] == ["name"]
    assert [name for name, field in fields.items() if field.positional] == ["name", "size", "columns"]
    assert [field.label for field in fields.values()][:5] == ["<name>", "<n>", "<column>", "--fast", "--limit"]
    assert fields["columns"].many
    assert fields["file"].kind is str


def test_plain_values_become_arguments_with_their_defaults():
    expected = Args("x", 5, ("a",), fast=True, limit=3)
    assert COMMAND.parse({"name": "x", "size": 5, "columns": ["a"], "fast": True, "limit": 3}) == expected
    assert COMMAND.parse({"name": "x"}) == Args("x")
    assert COMMAND.parse({"name": "x", "file": None}).file is None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, (64, "not enough arguments.")),
        ({"name": "x", "bogus": 1}, (64, "Invalid options for this command:\n--bogus : ")),
        ({"name": 5}, (65, "Bad argument: <name> must be text")),
        ({"name": None}, (65, "Bad argument: <name> must be text")),
        ({"name": "x", "size": "5"}, (65, "Bad argument: <n> must be an integer")),
        ({"name": "x", "limit": True}, (65, "Bad argument: --limit must be an integer")),
        ({"name": "x", "fast": 1}, (65, "Bad argument: --fast must be true or false")),
        ({"name": "x", "columns": "a"}, (65, "Bad argument: <column> must be text")),
        ({"name": "x", "columns": [1]}, (65, "Bad argument: <column> must be text")),
        ({"name": "\udcff"}, (65, "Bad argument: <name> is not UTF-8")),
        ({"name": "x", "columns": ["a", "\udcff"]}, (65, "Bad argument: <column> is not UTF-8")),
        ({"name": "x", "unit": "gb"}, (64, "unit 'gb' is not supported. Please use one of: kb, mb")),
        ({"name": "x", "columns": ["a", "z"]}, (64, "Info key(s) z are not supported")),
    ],
)
def test_what_does_not_fit_is_refused_with_rabbitmqs_texts(given, expected):
    assert refusal(COMMAND.parse, given) == expected


def test_columns_are_those_asked_for_else_the_default_ones_else_all():
    def names(command: Command, *columns: str) -> list[str]:
        return [column.name for column in command.chosen(Args("x", columns=columns))]

    assert names(COMMAND, "b", "a") == ["b", "a"]
    # RabbitMQ shows a column once, however often it was named.
    assert names(COMMAND, "b,a", "a") == ["b", "a"]
    assert names(COMMAND) == ["b"]
    assert names(COMMAND._replace(default=())) == ["a", "b"]
    assert command(Args).chosen(Args("x")) == ()


def test_a_word_becomes_what_its_field_holds():
    fields = {field.name: field for field in COMMAND.fields()}
    assert (spec.convert(fields["name"], "5"), spec.convert(fields["size"], "-5")) == ("5", -5)
    assert refusal(spec.convert, fields["size"], "five") == (65, "Bad argument: <n> must be an integer")


def test_an_unknown_column_that_is_near_to_one_gets_a_hint():
    listing = commands.load("list_queues")
    with pytest.raises(BadArguments) as refused:
        listing.parse({"columns": ["mesages_ready"]})
    assert refused.value.text == "Info key(s) mesages_ready are not supported. Did you mean 'messages_ready'?"
    with pytest.raises(BadArguments) as refused:
        listing.parse({"columns": ["mesages_ready", "nme"]})
    assert refused.value.text == "Info key(s) mesages_ready,nme are not supported"

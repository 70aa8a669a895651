"""Commands without a socket, as any caller in the daemon may run them."""

from typing import Annotated, Any, NamedTuple

import pytest

from pybroker.control.access import ActingUser
from pybroker.control.execute import ROWS_PER_SLICE, Executor, Listed, Rows, SendLines, Value, describe
from pybroker.control.spec import EX_NOPERM, Arg, Column, Command, NoArgs, Progress, Refused
from pybroker.store.memory import MemoryDefinitions

ANN = ActingUser("ann", ("administrator",), "127.0.0.1:4711", {"address": "127.0.0.1"})


@pytest.fixture
def executor(operator) -> Executor:
    return Executor(operator.world.broker, operator.daemon, operator.pauses.append)


def run(executor: Executor, name: str, user: ActingUser = ANN, lines: Any = (), **given: Any) -> tuple[list[Any], Any]:
    """Return the parts of an answer, and its end."""
    answer, parts = executor.run(name, given, user, lines), []
    while True:
        try:
            parts.append(next(answer))
        except StopIteration as end:
            return parts, end.value


def test_an_answer_is_made_of_values(executor):
    assert run(executor, "ping") == ([], Value("Ping succeeded"))


def test_a_listing_has_nouns_and_columns_to_read_off_them(executor):
    [rows], end = run(executor, "list_users")
    assert isinstance(rows, Rows)
    assert rows.first
    assert [[column.read(noun) for column in rows.columns] for noun in rows.nouns] == [["guest", ["administrator"]]]
    assert end == Listed(1)


def test_an_empty_listing_has_its_columns(executor):
    [rows], end = run(executor, "list_queues")
    assert ([column.name for column in rows.columns], list(rows.nouns), end) == (["name", "messages"], [], Listed(0))


def test_a_long_listing_comes_in_slices(executor, add):
    column = Column("n", lambda n: n, "a number")
    add(Command("many", "Tests", "Tests", NoArgs, "read", "none", lambda _n, _a: range(ROWS_PER_SLICE * 2), (column,)))
    slices, end = run(executor, "many")
    assert [(len(one.nouns), one.first) for one in slices] == [(ROWS_PER_SLICE, True), (ROWS_PER_SLICE, False)]
    assert end == Listed(ROWS_PER_SLICE * 2)


def test_a_stream_may_end_with_facts(executor, add):
    def run_it(_node, _args):
        yield [1, 2]
        return {"left": 3}

    add(Command("tail", "Tests", "Tests", NoArgs, "read", "none", run_it, streams="json"))
    assert run(executor, "tail")[1] == Listed(2, {"left": 3})


def test_a_stream_that_refuses_yields_nothing(executor, add):
    def refuse(_node, _args):
        raise Refused("too many readers", EX_NOPERM)
        yield []

    add(Command("tail", "Tests", "Tests", NoArgs, "read", "none", refuse, streams="text"))
    parts = executor.run("tail", {}, ANN, ())
    with pytest.raises(Refused, match="too many readers"):
        next(parts)


def test_a_stream_has_its_header_with_the_first_batch(executor, add):
    add(Command("tail", "Tests", "Tests", NoArgs, "read", "none", lambda _n, _a: iter([[], ["a"]]), streams="text"))
    parts, end = run(executor, "tail")
    assert ([(list(one.nouns), one.first) for one in parts], end) == ([([], True), (["a"], False)], Listed(1))


def test_long_work_tells_how_far_it_is(executor, add):
    def work(_node, _args):
        yield Progress(1, 2)
        return "done"

    add(Command("long", "Tests", "Tests", NoArgs, "read", "none", work))
    assert run(executor, "long") == ([Progress(1, 2)], Value("done"))


def test_lines_are_read_after_they_were_asked_for(executor, add):
    seen = []

    def work(node, _args):
        seen.extend(node.lines)

    add(Command("lines", "Tests", "Tests", NoArgs, "read", "none", work, takes_lines=True))
    answer = executor.run("lines", {}, ANN, (seen.append("read") or n for n in (1, 2)))
    assert (next(answer), seen) == (SendLines(), [])
    assert list(answer) == []
    assert [1, 2] == [one for one in seen if one != "read"]


def test_the_command_knows_its_user(executor, add):
    add(Command("who", "Tests", "Tests", NoArgs, "read", "none", lambda node, _args: node.user.name))
    assert run(executor, "who") == ([], Value("ann"))


def test_a_change_is_laid_to_the_user(executor, operator, peer, caplog):
    caplog.set_level("INFO", "pybroker")
    entries: list[tuple[Any, ...]] = []
    operator.world.broker.events.add_receiver(lambda *given: entries.append(given))
    run(executor, "add_vhost", vhost_name="v")
    assert {("command add_vhost", ANN.name, ANN.origin)} == {cause for _, _, cause, _ in entries}
    assert {"vhost.created", "command"} <= {event for event, *_ in entries}
    facts = {"name": "add_vhost", "arguments": "vhost_name='v'", "exit": 0, "error": "", "address": "127.0.0.1"}
    assert dict(entries[-1][1]) == facts
    assert "control: 127.0.0.1:4711 runs add_vhost vhost_name='v'" in caplog.text


def test_a_user_without_the_tag_is_refused_and_nothing_is_done(executor, operator):
    with pytest.raises(Refused, match="Not administrator user") as refused:
        run(executor, "add_vhost", ActingUser("bob", ("monitoring",)), vhost_name="v")
    assert refused.value.exit_code == EX_NOPERM
    assert "v" not in operator.world.broker.vhosts


class SlowDefinitions(MemoryDefinitions):
    """Hands out commit positions; a pause completes them."""

    __slots__ = ()

    def put(self, kind, key, value):
        self.commit_position += 1
        return self.commit_position


def test_a_change_is_done_when_it_is_on_disk(operator):
    definitions = operator.world.broker.definitions = SlowDefinitions()
    paused = []

    def pause(seconds: float) -> None:
        paused.append(seconds)
        if len(paused) == 3:
            definitions.completed = definitions.commit_position

    executor = Executor(operator.world.broker, operator.daemon, pause)
    assert run(executor, "add_vhost", vhost_name="v") == ([], Value(None))
    assert paused == [0.001, 0.002, 0.004]


def test_a_description_shows_what_was_given():
    class Args(NamedTuple):
        name: Annotated[str, Arg("a name")]
        limit: Annotated[int, Arg("a limit", "--limit")] = 0

    command = Command("x", "Tests", "Tests", Args, "write", "none", lambda _node, _args: None)
    assert describe(command, Args("n")) == "x name='n'"
    assert describe(command, Args("n", 5)) == "x name='n' limit=5"

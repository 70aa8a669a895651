import pytest

from pybroker.control import json_lines
from pybroker.control.spec import BadArguments, Node, Progress, Refused, progress_of
from pybroker.core.events.cause import BROKER

QUEUE = {"name": "q", "vhost": "/"}


def node(operator, *lines):
    return Node(operator.world.broker, operator.daemon, operator.pauses.append, BROKER, lines=iter(lines))


def test_a_document_is_read_line_by_line_with_a_pause_after_each_share_of_work(operator):
    clock = operator.world.broker.clock

    def lines():
        for line in (["rabbit_version", "3.5.0"], ["queues", [QUEUE]], ["queues", []], ["queues", []]):
            clock.advance(json_lines.SHARE_MS // 2)
            yield line

    document = json_lines.read(node(operator)._replace(lines=lines()), None)
    assert ("3.5.0", 1) == (document.version, len(document))
    assert [json_lines.PAUSE_S] * 2 == operator.pauses


def test_a_short_document_is_read_without_a_pause(operator):
    json_lines.read(node(operator, ["rabbit_version", "3.5.0"], *[["queues", []]] * 20), None)
    assert operator.pauses == []


@pytest.mark.parametrize("line", [{}, ["queues"], [1, []], "queues"])
def test_what_is_no_line_of_a_document(operator, line):
    with pytest.raises(Refused, match="a line of a document must be a list of a section's name and its items"):
        json_lines.read(node(operator, line), None)


def work():
    yield 1, 2
    yield 2, 2
    return "done"


def test_work_of_the_core_tells_how_far_it_is():
    steps = progress_of(work())
    assert [Progress(1, 2), Progress(2, 2)] == [next(steps), next(steps)]
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert "done" == end.value.value == json_lines.finish(work())


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("xml", "Format should be either json or erlang"),
        ("erlang", "Erlang's own format is not supported; use --format json"),
    ],
)
def test_formats(word, text):
    json_lines.check_format("json")
    with pytest.raises(BadArguments) as refused:
        json_lines.check_format(word)
    assert (text, 65) == (refused.value.text, refused.value.exit_code)

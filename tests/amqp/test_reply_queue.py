"""A channel's output while a reply waits: nothing overtakes it, and nothing is kept longer than necessary."""

from types import SimpleNamespace

from hypothesis import given, strategies as st

from pybroker.amqp.reply_queue import NEVER, OCTETS_MAX, REPLIES_MAX, Line

kinds = st.sampled_from(["log", "definitions", "behind"])


def source(completed: int = 0, failed: str = "") -> SimpleNamespace:
    return SimpleNamespace(completed=completed, failed=failed)


def taken(line: Line) -> list[object]:
    found = []
    while (say := line.take()) is not None:
        found.append(say)
    return found


@given(st.lists(st.tuples(kinds, st.integers(1, 5))), st.lists(st.tuples(kinds, st.integers(0, 5)), max_size=12))
def test_what_may_be_said_is_said_in_order(replies, steps):
    sources = {"log": source(), "definitions": source(), "behind": None}
    line, said = Line(), []
    for i, (kind, ticket) in enumerate(replies):
        line.add(b"%d" % i, sources[kind], ticket)
    for kind, completed in [("behind", 0), *steps]:
        if sources[kind] is not None:
            sources[kind].completed = max(completed, sources[kind].completed)
        said += taken(line)
        waits = [sources[k] is not None and sources[k].completed < t for k, t in replies]
        due = waits.index(True) if True in waits else len(replies)
        assert [b"%d" % i for i in range(due)] == said
        assert (len(replies) - due, sum(len(b"%d" % i) for i in range(due, len(replies)))) == (len(line), line.octets)


def test_a_reply_may_be_made_in_its_turn():
    line = Line()
    line.add(lambda: [b"1"], source(1), 1)
    assert (1, 0) == (line.calls, line.octets)
    (say,) = taken(line)
    assert ([b"1"], 0) == (say(), line.calls)


def test_a_line_is_long_by_its_replies_or_by_their_octets():
    many, much = Line(), Line()
    for i in range(REPLIES_MAX):
        assert not many.is_long
        many.add(b"", source(), i)
        assert many.is_short == (i < REPLIES_MAX // 2)
    assert many.is_long
    much.add(bytes(OCTETS_MAX // 2))
    assert (False, True) == (much.is_long, much.is_short)
    much.add(bytes(OCTETS_MAX // 2 + 1))
    assert (True, False) == (much.is_long, much.is_short)


def test_a_place_is_kept_until_it_is_known_what_it_waits_for():
    line = Line()
    reply = line.add(b"ok", NEVER)
    line.add(b"behind")
    assert ([], "") == (taken(line), line.failed)
    reply.source, reply.commit_position = source(7), 7
    assert [b"ok", b"behind"] == taken(line)


def test_it_fails_when_what_is_first_will_never_come():
    line, log = Line(), source(1)
    line.add(b"a", log, 1)
    line.add(b"b", log, 2)
    assert "" == line.failed
    log.failed = "the disk is gone"
    assert ([b"a"], "the disk is gone") == (taken(line), line.failed)
    assert "" == Line().failed

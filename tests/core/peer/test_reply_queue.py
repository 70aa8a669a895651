"""A channel's output while a reply waits: nothing overtakes it, and nothing is kept longer than necessary."""

from types import SimpleNamespace

from hypothesis import given, strategies as st

from pybroker.core.peer.reply_queue import NEVER, OCTETS_MAX, REPLIES_MAX, ReplyQueue

kinds = st.sampled_from(["log", "definitions", "behind"])


def source(completed: int = 0, failed: str = "") -> SimpleNamespace:
    return SimpleNamespace(completed=completed, failed=failed)


def taken(reply_queue: ReplyQueue) -> list[object]:
    found = []
    while (say := reply_queue.pop()) is not None:
        found.append(say)
    return found


@given(st.lists(st.tuples(kinds, st.integers(1, 5))), st.lists(st.tuples(kinds, st.integers(0, 5)), max_size=12))
def test_what_may_be_said_is_said_in_order(replies, steps):
    sources = {"log": source(), "definitions": source(), "behind": None}
    reply_queue, said = ReplyQueue(), []
    for i, (kind, commit_position) in enumerate(replies):
        reply_queue.add(b"%d" % i, sources[kind], commit_position)
    for kind, completed in [("behind", 0), *steps]:
        if sources[kind] is not None:
            sources[kind].completed = max(completed, sources[kind].completed)
        said += taken(reply_queue)
        waits = [sources[k] is not None and sources[k].completed < t for k, t in replies]
        due = waits.index(True) if True in waits else len(replies)
        assert [b"%d" % i for i in range(due)] == said
        assert (len(replies) - due, sum(len(b"%d" % i) for i in range(due, len(replies)))) == (
            len(reply_queue),
            reply_queue.octets,
        )


def test_a_reply_may_be_made_in_its_turn():
    reply_queue = ReplyQueue()
    reply_queue.add(lambda: [b"1"], source(1), 1)
    assert (1, 0) == (reply_queue.calls, reply_queue.octets)
    (say,) = taken(reply_queue)
    assert ([b"1"], 0) == (say(), reply_queue.calls)


def test_a_line_is_long_by_its_replies_or_by_their_octets():
    many, much = ReplyQueue(), ReplyQueue()
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
    reply_queue = ReplyQueue()
    reply = reply_queue.add(b"ok", NEVER)
    reply_queue.add(b"behind")
    assert ([], "") == (taken(reply_queue), reply_queue.failed)
    reply.source, reply.commit_position = source(7), 7
    assert [b"ok", b"behind"] == taken(reply_queue)


def test_it_fails_when_what_is_first_will_never_come():
    reply_queue, log = ReplyQueue(), source(1)
    reply_queue.add(b"a", log, 1)
    reply_queue.add(b"b", log, 2)
    assert "" == reply_queue.failed
    log.failed = "the disk is gone"
    assert ([b"a"], "the disk is gone") == (taken(reply_queue), reply_queue.failed)
    assert "" == ReplyQueue().failed

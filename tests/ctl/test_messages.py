"""Messages as their reader wants them."""

import gzip
import io
import json
import sys
from base64 import b64decode, b64encode

import pytest

from pybroker.control.spec import BadArguments
from pybrokerctl import messages
from pybrokerctl.command_line import CommandLine
from pybrokerctl.run import make_call

MESSAGE = {
    "seq": 17,
    "position": "17",
    "priority": 0,
    "state": "ready",
    "redelivered": False,
    "deliveries": 0,
    "exchange": "",
    "routing_key": "q",
    "arrived_at": "2026-11-22T21:57:32.000Z",
    "age_ms": 125_000,
    "expires_at": None,
    "properties": {"content_type": "text/plain"},
    "headers": {"evil\x1b]0;x\x07": "\u202e"},
    "size": 9,
    "body": "red\x1b[31m\u202e\nnext",
    "body_format": "text",
    "body_cut": True,
}
HELD = {
    **MESSAGE,
    "position": "5:17",
    "state": "unacknowledged",
    "redelivered": True,
    "deliveries": 3,
    "consumer_tag": "c",
    "connection": "127.0.0.1:1 -> 127.0.0.1:2",
    "connection_pid": "<pid>",
    "user_provided_name": "billing",
    "channel": 4,
    "user": "guest",
    "delivered_at": "x",
    "unacknowledged_ms": 90_061_000,
    "body": {"a": [1]},
    "body_format": "json",
    "body_cut": False,
    "expires_at": "later",
    "due_at": "then",
}


@pytest.fixture
def show(ctl, daemon):
    """Answer with these messages; return what is printed."""

    def shown(*words, found=(MESSAGE,), **facts):
        end = {"end": len(found), "facts": facts} if facts else {"end": len(found)}
        daemon.lines = [{"columns": ["value"]}, *([one] for one in found), end]
        outcome = ctl("peek_messages", "q", *words)
        assert outcome.code == 0, outcome.err
        return outcome.out

    return shown


@pytest.fixture
def show_stream(ctl, daemon):
    """Answer with these messages of a stream; return what is printed."""

    def shown(*words, found, **facts):
        facts = {"first_offset": 0, "next_offset": 0, **facts}
        daemon.lines = [{"columns": ["value"]}, *([one] for one in found), {"end": len(found), "facts": facts}]
        outcome = ctl("stream", "read", "s", *words)
        assert outcome.code == 0, outcome.err
        return outcome.out

    return shown


def of_stream(offset):
    left_out = {"seq", "position", "priority", "state", "redelivered", "deliveries", "expires_at"}
    return {"offset": offset, **{name: value for name, value in MESSAGE.items() if name not in left_out}}


def test_messages_of_a_stream_have_offsets_and_no_state(show_stream):
    text = show_stream(found=[of_stream(7)])
    assert "message 7\n  arrived 2026-11-22T21:57:32.000Z, 2 min 5 s ago\n  exchange (default), routing key q\n" in text
    assert "For more" not in text
    assert show_stream("--limit", "1", found=[of_stream(7)]).endswith("\nFor more: --from 8\n")
    assert show_stream(found=[of_stream(at) for at in range(10)]).endswith("\nFor more: --from 10\n")
    assert "For more" not in show_stream("--to", "9", found=[of_stream(at) for at in range(10)])
    header, row = show_stream("--format", "table", "-q", found=[of_stream(7)]).splitlines()
    assert header.split("\t") == list(messages.STREAM_COLUMNS)
    assert row.startswith("7\t\tq\t125000\ttext/plain\t9\ttext\t")
    assert [of_stream(7)] == json.loads(show_stream("--format", "json", found=[of_stream(7)]))


def test_an_empty_answer_says_where_the_stream_has_messages(show_stream):
    assert show_stream(found=[]).endswith("No such messages. The stream has no messages.\n")
    text = show_stream(found=[], first_offset=5, next_offset=9)
    assert text.endswith("No such messages. The stream has offsets 5 to 8.\n")


def test_text_is_harmless(show):
    text = show()
    assert "message 17  ready\n  arrived 2026-11-22T21:57:32.000Z, 2 min 5 s ago\n" in text
    assert "exchange (default), routing key q\n  content_type: text/plain\n" in text
    assert r"header evil\033]0;x\a: \u202e" in text
    assert "body: 9 octets, text, cut here" in text
    assert "    red\\033[31m\\u202e\n    next\n" in text
    assert text.isascii()
    assert "\x1b" not in text


def test_a_message_with_a_consumer_tells_whose_it_is(show):
    text = show(found=[HELD])
    assert "message 5:17  unacknowledged, redelivered (delivered 3 times before)\n" in text
    assert (
        "with consumer c on channel 4 of <pid> 127.0.0.1:1 -> 127.0.0.1:2 (billing), user guest, for 1 d 1 h\n" in text
    )
    assert ", expires later at the head, due then\n" in text
    assert '    {\n      "a": [\n' in text
    assert "with basic.get on" in show(found=[{**HELD, "consumer_tag": None}])


def test_how_to_go_on_is_told_if_there_may_be_more(show):
    assert show("-c", "1").endswith("\nFor more: --from 18\n")
    assert show("-c", "1", "--from", "tail").endswith("\nFor more: --from 16 --newest-first\n")
    assert show("-c", "1", found=[HELD]).endswith("\nFor more: --from 5:18\n")
    assert "For more" not in show()
    assert "For more" not in show("-c", "1", "-q")
    assert show(found=[]).endswith("No messages.\n")
    assert show("--match", "x", found=[]).endswith("No such messages.\n")


def test_messages_in_other_states_are_told_where_there_are_none(show):
    facts = {"messages_ready": 0, "messages_unacknowledged": 3, "messages_delayed": 1_000}
    unacked, delayed = "3 unacknowledged (see --unacked)", "1,000 delayed until a retry (see --delayed)"
    assert show(found=[], **facts).endswith(f"No messages. Not shown: {unacked}, {delayed}.\n")
    assert show("--unacked", found=[], **facts).endswith(f"No messages. Not shown: {delayed}.\n")
    facts["messages_ready"] = 7
    assert show("--delayed", found=[], **facts).endswith(f"Not shown: 7 ready (without --delayed), {unacked}.\n")
    assert "Not shown" not in show(**facts)
    assert [] == json.loads(show("--format", "json", found=[], **facts))


def test_an_empty_body_and_one_in_hexadecimal(show):
    assert "  body: empty\n" in show(found=[{**MESSAGE, "size": 0, "body": "", "body_cut": False}])
    hexadecimal = {**MESSAGE, "size": 1, "body": "ff", "body_format": "hex", "body_cut": False, "age_ms": 12}
    text = show(found=[hexadecimal])
    assert "  body: 1 octet, in hexadecimal\n    ff\n" in text
    assert ", 12 ms ago" in text


def test_json_is_an_array_and_ndjson_a_line_each(show):
    assert [MESSAGE, HELD] == json.loads(show("--format", "json", found=[MESSAGE, HELD]))
    assert [] == json.loads(show("--formatter=json", found=[]))
    lines = show("--format", "ndjson", found=[MESSAGE, HELD]).splitlines()
    assert [MESSAGE, HELD] == [json.loads(line) for line in lines]
    assert "\u202e" not in "".join(lines)


def test_a_table_has_a_row_each(show):
    rows = show("--format", "table", "-q", found=[MESSAGE, HELD]).splitlines()
    assert rows[0].split("\t") == list(messages.COLUMNS)
    assert rows[1].endswith("text/plain\t9\ttext\tred\\033[31m\\u202e\\nnext...")
    assert rows[2].endswith('json\t{"a":[1]}')
    text = show("--format", "csv")
    assert '\n17,"ready","false"' in text
    assert "\x1b" not in text
    assert "routing_key" in show("--format", "pretty_table")


def test_raw_is_what_was_published(daemon, ctl):
    bodies = [b"\x1f\x8b\0\xff", b"two"]
    rows = [
        [{**MESSAGE, "body": b64encode(body).decode(), "body_format": "base64", "body_cut": not at}]
        for at, body in enumerate(bodies)
    ]
    daemon.lines = [{"columns": ["value"]}, *rows, {"end": 2}]
    written = raw(ctl)
    assert (b"\x1f\x8b\0\xff\ntwo", True) == (written[0], "the body of message 17 is cut" in written[1])


def in_parts(body, **more):
    """Return the rows of a message with a long body."""
    first, *others = [b64encode(body[at : at + 300]).decode() for at in range(0, len(body), 300)]
    whole = {**MESSAGE, "size": len(body), "body": first, "body_format": "base64", "body_cut": False, **more}
    return [[{**whole, "body_parts": len(others)}], *[[{"seq": 17, "body_part": part}] for part in others]]


def test_a_long_body_is_joined_and_decoded(daemon, ctl):
    text = json.dumps({"a": ["x" * 1_000]})
    rows = [
        *in_parts(text.encode(), properties={"content_type": "application/json"}),
        *in_parts(gzip.compress(b"z" * 9_999), properties={"content_encoding": "gzip"}),
        [{**MESSAGE, "body": "short"}],
    ]
    daemon.lines = [{"columns": ["value"]}, *rows, {"end": len(rows)}]
    shown = json.loads(ctl("peek_messages", "q", "--body-size", "5000", "--format", "json").out)
    assert [(one["body"], one["body_format"], one["body_cut"]) for one in shown] == [
        (json.loads(text), "json", False),
        ("z" * 5_000, "text", True),
        ("short", "text", True),
    ]
    assert not any("body_parts" in one for one in shown)


def test_a_long_body_is_raw_as_it_is(daemon, ctl):
    body = bytes(range(256)) * 5
    rows = [*in_parts(body), *in_parts(body)]
    daemon.lines = [{"columns": ["value"]}, *rows, {"end": len(rows)}]
    assert body + b"\n" + body == raw(ctl)[0]


def raw(ctl):
    """Return what goes to a standard output that is a file, and to standard error."""
    saved, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO())
    try:
        outcome = ctl("peek_messages", "q", "--format", "raw")
        return sys.stdout.buffer.getvalue(), outcome.err
    finally:
        sys.stdout = saved


def call(*words):
    return make_call(CommandLine(words).parse())


def test_format_and_formatter_are_one_option():
    assert "json" == call("--formatter", "json", "peek_messages", "q").given["format"]
    made = call("--formatter", "csv", "peek_messages", "q", "--format", "ndjson")
    assert ("ndjson", "json") == (made.given["format"], made.options.formatter)
    assert "csv" == call("peek_messages", "q", "--format", "raw").options.formatter
    assert "format" not in call("peek_messages", "q").given


def test_raw_octets_are_kept_off_terminals(monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    with pytest.raises(BadArguments, match="redirect"):
        call("peek_messages", "q", "--format", "raw")


def test_a_body_in_a_file_follows_the_request(ctl, daemon, folder, monkeypatch):
    body = bytes(range(256)) * 1_000
    (folder / "body").write_bytes(body)
    arguments = make_call(CommandLine(["publish", "--queue", "q", "--file", str(folder / "body")]).parse())
    lines = messages.body_lines(arguments.command.parse(arguments.given))
    assert [json.loads(line) for line in lines[-1:]] == [{"end": 2}]
    assert body == b"".join(b64decode(json.loads(line)) for line in lines[:-1])
    monkeypatch.setattr(messages, "BODY_OCTETS_MAX", 100)
    outcome = ctl("publish", "--queue", "q", "--file", str(folder / "body"))
    assert (outcome.code, "the body is too large" in outcome.err) == (65, True)
    assert "Could not read" in ctl("publish", "--queue", "q", "--file", str(folder / "missing")).err


def test_a_body_may_come_from_standard_input_or_the_command_line(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff")))
    command = make_call(CommandLine(["publish", "x", "--queue", "q"]).parse()).command
    assert [b'"/w=="\n', b'{"end":1}\n'] == messages.body_lines(command.parse({"file": "-", "queue": "q"}))
    assert [b'{"end":0}\n'] == messages.body_lines(command.parse({"body": "x", "queue": "q"}))

"""why_blocked in a pipe, on a terminal, and as rows."""

from pybroker.control.commands.monitoring.why_blocked import Args
from pybrokerctl import response
from pybrokerctl.call import Call
from pybrokerctl.client import Connection
from pybrokerctl.command_line import find
from pybrokerctl.options import Options
from pybrokerctl.views import why_blocked
from tests.ctl.typist import plain

WHY = "410.0 MB used, 400.0 MB allowed (0.4 of 1,000.0 MB, cgroup v2); queues hold little of it"
ADVICE = "see 'pybrokerctl memory_breakdown'"


def connection(number: int, state: str, *causes: dict) -> dict:
    return {
        "pid": f"<n.1.{number}.0>",
        "name": f"127.0.0.1:{number} -> 127.0.0.1:5672",
        "user_provided_name": "worker" if number == 1 else "",
        "user": "guest",
        "vhost": "/",
        "state": state,
        "flow_count": number,
        "flow_time": 4_730,
        "causes": list(causes),
    }


def cause(kind: str, message: str, *, now: bool = True) -> dict:
    return {"cause": kind, "message": message, "now": now, "seconds": 1.5, "why": WHY, "advice": ADVICE}


BLOCKED = connection(1, "blocked", cause("memory", "has been blocked for 1.5 s by the memory alarm"))
FLOW = connection(2, "flow", {**cause("journal", "has been throttled for 0.1 s by the journal"), "why": "9.0 MB wait"})
ALARM = {"title": "Memory alarm on node n", "lasting": "for 3 min 12 s", "why": WHY, "advice": ADVICE}
DOCUMENT = {
    "message": "2 connections are blocked or throttled.",
    "connections": [BLOCKED, FLOW],
    "left_out": 0,
    "alarms": [ALARM],
    "notices": [],
}


def shown(document=DOCUMENT, *, drawn=False) -> str:
    return "".join(why_blocked.view(document, Args(), drawn=drawn))


def test_an_alarm_is_explained_once_and_each_other_cause_where_it_is():
    assert (
        shown()
        == f"""\
2 connections are blocked or throttled.

Memory alarm on node n (for 3 min 12 s)
    {WHY}
    to do: {ADVICE}

blocked: <n.1.1.0> 127.0.0.1:1 -> 127.0.0.1:5672 (worker), user guest, has been blocked for 1.5 s by the memory alarm

flow: <n.1.2.0> 127.0.0.1:2 -> 127.0.0.1:5672, user guest, has been throttled for 0.1 s by the journal
    9.0 MB wait
    to do: {ADVICE}
    in flow 2 times until now, 4.7 s in all
"""
    )


def test_on_a_terminal_it_is_as_wide_as_that_and_states_have_their_colour(person, capfd):
    with capfd.disabled():
        text = shown(drawn=True)
    assert "\x1b[31mblocked\x1b[0m: <n.1.1.0>" in text
    assert "\x1b[33mflow\x1b[0m: <n.1.2.0>" in text
    assert "\x1b[1;31mMemory alarm on node n (for 3 min 12 s)\x1b[0m" in text
    assert max(map(len, plain(text).splitlines())) < 80


def test_what_can_be_typed_stands_in_a_line_of_its_own_however_narrow_the_terminal(person, capfd):
    command = f"pybrokerctl close_connection '{'x' * 80}' 'does not read'"
    advice = {**ALARM, "advice": f"have the client read, or: {command}"}
    with capfd.disabled():
        lines = plain(shown({**DOCUMENT, "alarms": [advice, {**ALARM, "advice": command}]}, drawn=True)).splitlines()
    at = lines.index("    to do: have the client read")
    assert lines[at + 1] == f"    or:    {command}"
    assert f"    to do: {command}" in lines


def test_of_those_that_only_would_be_held_back_ten_are_named():
    text = "is not held back by the memory alarm before it publishes"
    later = [connection(number, "blocking", cause("memory", text, now=False)) for number in range(1, 14)]
    lines = shown({**DOCUMENT, "connections": later, "left_out": 2_000}).splitlines()
    assert sum(text in line for line in lines) == 10
    assert lines[-1] == "... and 2,003 more: pybrokerctl list_connections --problems pid name state"


def test_a_name_cannot_break_the_line():
    assert r"user a\nb," in shown({**DOCUMENT, "connections": [{**FLOW, "user": "a\nb"}]})


def test_formatters_that_know_only_tables_have_a_row_for_each_cause(daemon):
    daemon.answers = {"why_blocked": [{"value": DOCUMENT}, {"end": 0}]}
    command = find("why_blocked")
    with Connection(daemon.path, 10) as talk:
        texts = {
            formatter: "".join(response.texts(Call(command, {}, Options(formatter=formatter)), Args(), talk, {}))
            for formatter in ("csv", "pretty_table", "json", "table")
        }
    head, first, second = texts["csv"].splitlines()
    assert head == '"pid","name","user_provided_name","user","vhost","state","cause","seconds","why","advice"'
    assert first.startswith('"<n.1.1.0>","127.0.0.1:1 -> 127.0.0.1:5672","worker","guest","/","blocked","memory",1.5,')
    assert '"flow","journal",1.5,"9.0 MB wait"' in second
    assert "<n.1.2.0>" in texts["pretty_table"]
    assert texts["json"].startswith('{"message":"2 connections are blocked or throttled.","connections":[{"pid"')
    assert texts["table"] == shown()

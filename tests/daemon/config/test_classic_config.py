"""A whole file in the classic form: which settings are taken, and what is said of the others."""

import re
from pathlib import Path

import pytest

from pybroker.core.resources.resource_limits import TotalMemory
from pybroker.daemon.config.classic.classic_config import parse_classic
from pybroker.daemon.config.classic.classic_rules import RULES
from pybroker.daemon.config.conf_file import parse_conf
from pybroker.daemon.config.config import ConfigError, configure

GIB = 1 << 30
MANUAL = Path(__file__).parents[3] / "man/pybroker.conf.5"


def marks_of(text, octets=10 * GIB):
    assignments, problems = parse_conf(text.encode(), "f")
    marks = configure(assignments, problems).settings.watermarks
    marks.set_total(TotalMemory(octets, "RAM", octets))
    return marks


def problems_of(text):
    assignments, problems = parse_conf(text.encode(), "f")
    with pytest.raises(ConfigError) as caught:
        configure(assignments, problems)
    return caught.value.problems


def test_b12_the_documents_example_of_the_watermark():
    assert marks_of("[{rabbit, [{vm_memory_high_watermark, 0.4}]}].").memory_limit_octets == 4 * GIB
    assert marks_of("[{rabbit, [{vm_memory_high_watermark, {absolute, 1073741824}}]}].").memory_limit_octets == GIB
    assert marks_of('[{rabbit, [{vm_memory_high_watermark, {absolute, "1024M"}}]}].').memory_limit_octets == GIB


def test_b10_zero_and_b11_a_hundred():
    assert marks_of("[{rabbit, [{vm_memory_high_watermark, 0}]}].").memory_limit_octets == 0
    assert marks_of("[{rabbit, [{vm_memory_high_watermark, 100}]}].").memory_limit_octets == 1_000 * GIB


def test_b16_three_times_the_memory_that_is_assumed():
    assignments, problems = parse_conf(b"[{rabbit, [{vm_memory_high_watermark, 3}]}].", "f")
    assert configure(assignments, problems).settings.watermarks.memory_limit_octets == 3 * GIB


def test_c3_the_documents_example_of_paging():
    marks = marks_of("[{rabbit, [{vm_memory_high_watermark_paging_ratio, 0.75},{vm_memory_high_watermark, 0.4}]}].")
    assert (3 * GIB, 4 * GIB) == (marks.paging_octets, marks.memory_limit_octets)


def test_d2_the_documents_example_of_the_disk_limit(caplog):
    caplog.set_level("INFO", "pybroker")
    marks = marks_of("[{rabbit, [{disk_free_limit, 1000000000}]}].")
    assert marks.disk_limit_octets == 10**9
    marks.log_disk()
    # D5: the documents' figure for it.
    assert caplog.messages[-1] == "Disk free limit set to 953MB (1000000000 octets)"


def test_d3_the_documents_example_of_a_disk_limit_relative_to_the_memory():
    assert marks_of("[{rabbit, [{disk_free_limit, {mem_relative, 1.0}}]}].").disk_limit_octets == 10 * GIB


def test_an_assignment_has_its_own_line():
    assignments, problems = parse_classic(b"[{rabbit,\n [{heartbeat, 5},\n  {tcp_listeners,\n [1,\n 2]}]}].", "f")
    assert problems == []
    assert [each[:3] for each in assignments] == [
        ("heartbeat", "5", "f:2"),
        ("listeners.tcp.1", "1", "f:4"),
        ("listeners.tcp.2", "2", "f:5"),
    ]


def test_an_error_of_the_form_names_line_and_column():
    assert problems_of("[{rabbit,\n [{heartbeat 5}]}].") == ["f:2: column 14: expected ',' or '}', found '5'"]


def test_a_wrong_value_names_line_key_and_what_was_expected():
    assert problems_of('[{rabbit,\n [{heartbeat, "60"}]}].') == ['f:2: heartbeat: expected an integer, found "60"']
    assert problems_of("[{rabbit, [{heartbeat, -1}]}].") == ["f:1: heartbeat = -1: expected an integer from 0 to 65535"]


def test_an_unknown_key_names_the_nearest_one():
    assert problems_of("[{rabbit, [{heartbeet, 1}]}].") == ["f:1: unknown key heartbeet; did you mean heartbeat?"]
    assert problems_of("[{rabbit, [{zzz, 1}]}].") == ["f:1: unknown key zzz; pybroker.conf(5) lists all keys"]


def test_a_key_of_rabbitmq_that_is_not_taken_is_refused_with_the_reason():
    (problem,) = problems_of("[{rabbit, [{ssl_allow_poodle_attack, true}]}].")
    assert problem == (
        "f:1: ssl_allow_poodle_attack is a key of RabbitMQ that has no effect in pybroker: SSL 3.0 is not supported; "
        "remove the line"
    )


def test_what_stands_beside_a_password_is_not_shown():
    (problem,) = problems_of("[{rabbit, [{ssl_options, [{password, secret}]}]}].")
    assert "secret" not in problem


def test_another_application_is_refused_unless_it_is_empty():
    assert parse_classic(b"[{kernel, []}, {rabbitmq_management, []}, {nonsense, []}].", "f") == ([], [])
    kernel, plugin, near, unknown = problems_of("[{kernel,[{a,1}]},\n{rabbitmq_mqtt,[a]},\n{rabit,[a]},{x,[1]}].")
    assert kernel == (
        "f:1: kernel is a part of RabbitMQ that has no effect in pybroker: it tunes the Erlang VM; remove it"
    )
    assert plugin.startswith("f:2: rabbitmq_mqtt is a part of RabbitMQ that this version of pybroker does not support")
    assert near == "f:3: unknown application rabit; did you mean rabbit?"
    assert unknown == "f:3: unknown application x"


def test_all_problems_are_found_and_told_in_the_files_order():
    text = "[{rabbit, [\n{heartbeet, 1},\n{heartbeat, x},\n{channel_max, -1},\nfoo,\n{a, b, c}]}, 5]."
    assert problems_of(text) == [
        "f:2: unknown key heartbeet; did you mean heartbeat?",
        "f:3: heartbeat: expected an integer, found x",
        "f:4: channel_max = -1: expected an integer from 0 to 65535",
        "f:5: expected {key, value}, found foo",
        "f:6: expected {key, value}, found a tuple of 3",
        "f:6: expected {rabbit, [...]}, found 5",
    ]


def test_a_key_may_be_set_once():
    assert problems_of("[{rabbit, [{heartbeat, 1},\n{heartbeat, 2}]},\n{rabbit, [{heartbeat, 3}]}].") == [
        "f:2: heartbeat is already set in line 1",
        "f:3: heartbeat is already set in line 1",
    ]


def test_a_part_of_a_setting_may_be_set_once():
    assert problems_of("[{rabbit, [{tcp_listen_options, [{backlog, 1},\n{backlog, 2}]}]}].") == [
        "f:2: tcp_listen_options.backlog is already set in line 1"
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{rabbit, []}.", "f:1: expected [{rabbit, [...]}]., found a tuple of 2"),
        ("[{rabbit, 5}].", "f:1: expected {rabbit, [...]}, found a tuple of 2"),
        ('["other.config"].', "f:1: expected {rabbit, [...]}, found a string"),
    ],
)
def test_what_is_no_configuration_is_told_so(text, found):
    assert problems_of(text) == [found]


@pytest.mark.parametrize(
    "text",
    [
        "[{rabbit, [{default_pass, secret}]}].",
        '[{rabbit, [{default_pass, [<<"secret">>]}]}].',
        '[{rabbit, [{default_pass, <<"secret\\n">>}]}].',
        '[{rabbit, [{default_pass, <<"secret">>, x}]}].',
        '[{rabbit, [{default_pass <<"secret">>}]}].',
        '[{rabbit, {default_pass, <<"secret">>}}].',
        '[{rabbit, [{default_pass, <<"secret>>}]}].',
    ],
)
def test_a_refused_password_is_not_shown(text):
    assert "secret" not in "".join(problems_of(text))


@pytest.mark.parametrize("octets", [b"[" * 1_000_000, b"[\0", b"[\xff", b"[{rabbit, [{" + b"a" * 1_000_000])
def test_a_hostile_file_is_one_problem(octets):
    assignments, problems = parse_classic(octets, "f")
    assert assignments == []
    assert len(problems) == 1
    assert len(problems[0]) < 200


def test_the_manual_names_every_setting():
    section = MANUAL.read_text().partition(".SH CLASSIC FORM")[2].partition(".SH")[0]
    assert [name for name in RULES if not re.search(rf"\b{name}\b", section)] == []


def test_both_examples_of_the_manual_mean_the_same():
    section = MANUAL.read_text().partition(".SH EXAMPLES")[2]
    section = section.replace(r"\(dq", '"').replace(r"\(aq", "'")
    newer, classic = (
        configure(*parse_conf(text.encode(), "f")) for text in re.findall(r"\.EX\n(.*?)\.EE", section, re.DOTALL)
    )
    assert set(newer.tcp) == set(classic.tcp)
    assert newer.settings == classic.settings
    assert newer.settings.default_user == "orders"
    watermarks = (newer.settings.watermarks, classic.settings.watermarks)
    assert [(4 * GIB, 0.75, 1.0)] * 2 == [
        (each.memory_octets, each.paging_ratio, each.disk_relative) for each in watermarks
    ]

import re
from ipaddress import ip_network
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from pybroker.core.auth.password import SHA512
from pybroker.core.resources.resource_limits import ASSUMED, TotalMemory
from pybroker.core.settings import Settings
from pybroker.daemon.config.classic.classic_rules import RULES
from pybroker.daemon.config.conf_file import Assignment, parse_conf
from pybroker.daemon.config.config import Config, ConfigError, configure
from pybroker.daemon.config.keys import KEYS
from pybroker.daemon.config.values import Address


def configured(text):
    assignments, problems = parse_conf(text.encode(), "f")
    return configure(assignments, problems)


def problems_of(text):
    with pytest.raises(ConfigError) as caught:
        configured(text)
    return caught.value.problems


def test_no_file_means_the_defaults():
    assert configured("") == Config()
    assert configured("").settings == Settings()


@pytest.mark.parametrize(
    ("line", "attribute", "value"),
    [
        ("heartbeat = 10", "heartbeat_s", 10),
        ("frame_max = 64KB", "frame_octets_max", 65_536),
        ("initial_frame_max = 4096", "frame_octets_max_initial", 4_096),
        ("channel_max = 0", "channel_max", 0),
        ("handshake_timeout = 500", "handshake_timeout_ms", 500),
        ("consumer_max_per_channel = infinity", "consumers_per_channel_max", 0),
        ("consumer_max_per_channel = 7", "consumers_per_channel_max", 7),
        ("connection_max = 0", "connection_max", 0),
        ("connection_max = infinity", "connection_max", None),
        ("channel_max_per_node = 5000", "channels_per_node_max", 5_000),
        ("password_hashing_module = rabbit_password_hashing_sha512", "password_hashing", SHA512),
        ("max_message_size = 1MB", "message_octets_max", 1_048_576),
        ("default_vhost = v", "default_vhost", "v"),
        ("default_queue_type = quorum", "default_queue_type", "quorum"),
        ("default_queue_type = rabbit_quorum_queue", "default_queue_type", "quorum"),
        ("default_queue_type = rabbit_classic_queue", "default_queue_type", ""),
        ("default_user = u", "default_user", "u"),
        ("default_pass = 'p#w'", "default_pass", "p#w"),
        ("default_user_tags.monitoring = true", "default_user_tags", ("monitoring",)),
        ("default_user_tags.administrator = false", "default_user_tags", ()),
        ("default_permissions.read = ^a", "default_permissions", (".*", ".*", "^a")),
        ("default_permissions.configure = ^c", "default_permissions", ("^c", ".*", ".*")),
        ("loopback_users = none", "loopback_users", frozenset()),
        ("loopback_users.guest = false", "loopback_users", frozenset()),
        ("loopback_users.alice = true", "loopback_users", frozenset({"alice"})),
        ("auth_mechanisms.2 = PLAIN\nauth_mechanisms.1 = AMQPLAIN", "auth_mechanisms", ("AMQPLAIN", "PLAIN")),
        ("auth_mechanisms.1 = PLAIN", "auth_mechanisms", ("PLAIN",)),
        ("ssl_cert_login_from = common_name", "cert_login_from", "common_name"),
        ("ssl_cert_login_san_type = other_name", "cert_login_name_type", "other_name"),
        ("ssl_cert_login_san_index = 2", "cert_login_name_index", 2),
        ("consumer_timeout = 60000", "consumer_timeout_ms", 60_000),
        ("consumer_timeout = 0", "consumer_timeout_ms", 0),
        ("consumer_timeout = undefined", "consumer_timeout_ms", 0),
        ("amqp.consumer_timeout = close", "close_timed_out", True),
        ("amqp.consumer_timeout = return", "close_timed_out", False),
        ("amqp.flow = refuse", "refuse_flow", True),
        ("amqp.flow = pause", "refuse_flow", False),
        ("amqp.immediate = refuse", "refuse_immediate", True),
        ("amqp.immediate = return", "refuse_immediate", False),
        (
            "quorum_queue.property_equivalence.relaxed_checks_on_redeclaration = true",
            "relaxed_redeclaration",
            True,
        ),
        ("amqp.server_properties.product = X", "product", "X"),
        ("cluster_name = c", "cluster_name", "c"),
    ],
)
def test_a_key_reaches_its_setting(line, attribute, value):
    assert getattr(configured(line).settings, attribute) == value


@pytest.mark.parametrize(
    ("line", "attribute", "value"),
    [
        ("listeners.tcp.default = 5673", "tcp", (Address("", 5673),)),
        ("listeners.tcp.a = ::1:1\nlisteners.tcp.b = 127.0.0.1:2", "tcp", (Address("::1", 1), Address("127.0.0.1", 2))),
        ("listeners.tcp = none", "tcp", ()),
        ("listeners.tcp = none\nlisteners.tcp.default = 1", "tcp", ()),
        ("listeners.unix.default = /run/x.sock", "unix", (Path("/run/x.sock"),)),
        ("tcp_listen_options.backlog = 5", "backlog", 5),
        ("proxy_protocol = false", "trusted_proxies", ()),
        ("proxy_protocol.trusted.1 = ::1", "trusted_proxies", ()),
        (
            "proxy_protocol.trusted.a = 10.0.0.5\nproxy_protocol = true\nproxy_protocol.trusted.b = 2001:db8::/32",
            "trusted_proxies",
            (ip_network("10.0.0.5"), ip_network("2001:db8::/32")),
        ),
        ("node.name = a@b", "node_name", "a@b"),
        ("data_dir = /d", "data_dir", Path("/d")),
        ("log.dir = /l", "log_dir", Path("/l")),
        ("log.file = false", "log_file", None),
        ("log.file.level = debug", "log_level", "debug"),
        ("log.console = true", "console", True),
        ("log.console.level = none", "console_level", "none"),
        ("log.console.stdio = stderr", "console_stdio", "stderr"),
        ("log.journald = true", "journald", True),
        ("log.journald.level = error", "journald_level", "error"),
        ("control.socket = /s", "control_socket", Path("/s")),
        ("pid_file = none", "pid_file", None),
    ],
)
def test_a_key_reaches_its_place(line, attribute, value):
    assert getattr(configured(line), attribute) == value


def test_what_is_named_after_the_node_gets_its_name(monkeypatch):
    monkeypatch.setenv("RUNTIME_DIRECTORY", "/r")
    config = configured("data_dir = /d\nlog.dir = /l")
    config.name_node("a@b")
    assert config.settings.node_name == config.settings.cluster_name == "a@b"
    assert config.control_socket == Path("/r/a@b.sock")
    assert config.pid_file == Path("/d/a@b.pid")
    assert config.log_file == Path("/l/a@b.log")
    assert config.settings.log_files == ("/l/a@b.log",)


def test_every_place_of_the_log_is_known():
    config = configured("log.dir = /l\nlog.console = true\nlog.console.stdio = stderr\nlog.journald = true")
    config.name_node("a@b")
    assert config.settings.log_files == ("/l/a@b.log", "<stderr>", "<journald>")


def test_what_was_chosen_stays():
    config = configured("cluster_name = c\npid_file = none\nlog.dir = /l\nlog.file = x.log\ncontrol.socket = /s")
    config.name_node("a@b")
    assert config.settings.cluster_name == "c"
    assert config.pid_file is None
    assert config.log_file == Path("/l/x.log")
    assert config.control_socket == Path("/s")


@pytest.mark.parametrize(
    ("lines", "path"),
    [
        ("", "/l/a@b-audit.log"),
        ("log.audit = true", "/l/a@b-audit.log"),
        ("log.audit = who.log", "/l/who.log"),
        ("log.audit = /m/NODENAME.who", "/m/a@b.who"),
        ("log.audit = false", None),
        ("log.file = /m/x.log", "/m/a@b-audit.log"),
        ("log.file = false", None),
        ("log.file = false\nlog.audit = true", "/l/a@b-audit.log"),
    ],
)
def test_the_audit_log_lies_beside_the_log_unless_it_is_told_otherwise(lines, path):
    config = configured(f"log.dir = /l\n{lines}")
    config.name_node("a@b")
    assert config.audit_file == (None if path is None else Path(path))


@pytest.mark.parametrize(
    ("lines", "vhost"),
    [("", "/"), ("default_vhost = v", "v"), ("default_vhost = v\nevent_exchange.vhost = e", "e")],
)
def test_the_event_exchange_is_in_the_default_virtual_host_unless_it_is_told_otherwise(lines, vhost):
    assert configured(lines).settings.event_vhost == vhost


def test_a_log_file_may_lie_elsewhere():
    config = configured("log.dir = /l\nlog.file = /m/x.log")
    config.name_node("a@b")
    assert config.log_file == Path("/m/x.log")


def test_proxies_that_nobody_trusts_are_no_configuration():
    (problem,) = problems_of("heartbeat = 5\nproxy_protocol = true")
    assert problem.startswith("f:2: proxy_protocol = true: anybody could claim any address; add ")
    assert problem.endswith(" proxy_protocol.trusted.1 = 10.0.0.5")
    assert configured("proxy_protocol.trusted.1 = 10.0.0.5").warnings == [
        "proxy_protocol.trusted has no effect without proxy_protocol = true"
    ]


def test_a_bad_value_names_file_line_key_and_what_is_expected():
    assert problems_of("\nheartbeat = abc") == ["f:2: heartbeat = abc: expected an integer from 0 to 65535"]


@pytest.mark.parametrize(
    ("text", "queue_type"),
    [
        ("classic", ""),
        ("quorum", "quorum"),
        ("stream", "stream"),
        ("rabbit_classic_queue", ""),
        ("rabbit_stream_queue", "stream"),
    ],
)
def test_default_queue_types_have_rabbitmqs_names_too(text, queue_type):
    assert configured(f"default_queue_type = {text}").settings.default_queue_type == queue_type


def test_an_unknown_key_names_the_nearest_one():
    assert problems_of("listner.tcp.default = 1") == [
        "f:1: unknown key listner.tcp.default; did you mean listeners.tcp.default?"
    ]
    assert problems_of("heartbeet = 1") == ["f:1: unknown key heartbeet; did you mean heartbeat?"]
    assert problems_of("log.file.levle = 1") == ["f:1: unknown key log.file.levle; did you mean log.file.level?"]
    # A key of RabbitMQ that is near one of ours is no slip.
    (problem,) = problems_of("ssl_options.verify_fun = 1")
    assert problem.startswith("f:1: ssl_options.verify_fun is a key of RabbitMQ that ")
    assert problems_of("zzz = 1") == ["f:1: unknown key zzz; pybroker.conf(5) lists all keys"]


def test_a_key_of_rabbitmq_that_is_not_built_is_refused_with_the_reason():
    reason = "a key of RabbitMQ that this version of pybroker does not support: it has no clustering yet"
    assert problems_of("net_ticktime = 2") == [f"f:1: net_ticktime is {reason}"]


def marks_of(text):
    return configured(text).settings.watermarks


def total_of(octets, source="RAM"):
    return TotalMemory(octets, source, octets)


def test_b12_the_watermark_in_rabbitmqs_newer_form():
    assert marks_of("vm_memory_high_watermark.relative = 0.5").memory_relative == 0.5
    marks = marks_of("vm_memory_high_watermark.absolute = 4GiB")
    assert (4 << 30, None) == (marks.memory_octets, marks.memory_relative)


def test_b12_of_both_forms_the_absolute_one_has_precedence_with_rabbitmqs_warning():
    config = configured("vm_memory_high_watermark.absolute = 1GB\nvm_memory_high_watermark.relative = 0.5")
    marks = config.settings.watermarks
    assert (10**9, None) == (marks.memory_octets, marks.memory_relative)
    (warning,) = config.warnings
    assert warning == (
        "Both vm_memory_high_watermark.absolute and vm_memory_high_watermark.relative are configured. "
        "vm_memory_high_watermark.absolute has precedence (f:1, f:2)"
    )


def test_b10_zero_is_a_limit_of_no_octet():
    assert marks_of("vm_memory_high_watermark.relative = 0").memory_limit_octets == 0
    assert marks_of("vm_memory_high_watermark.absolute = 0").memory_limit_octets == 0


def test_b11_above_one_is_accepted():
    marks = marks_of("vm_memory_high_watermark.relative = 100")
    marks.set_total(total_of(10**9))
    assert marks.memory_limit_octets == 10**11


def test_b16_three_times_the_memory_that_is_assumed():
    # The documents' machine: 8 GB that the system does not tell about, and a limit of 3 GB wanted.
    assert marks_of("vm_memory_high_watermark.relative = 3").memory_limit_octets == 3 << 30


def test_b16_how_much_memory_there_is_may_be_told():
    marks = marks_of("total_memory_available_override_value = 8GiB")
    marks.set_total(ASSUMED)
    assert marks.total == TotalMemory(8 << 30, "configured", 0)


def test_c3_paging_at_thirty_percent_and_blocking_at_forty():
    marks = marks_of("vm_memory_high_watermark_paging_ratio = 0.75\nvm_memory_high_watermark.relative = 0.4")
    marks.set_total(total_of(10**10))
    assert (3 * 10**9, 4 * 10**9) == (marks.paging_octets, marks.memory_limit_octets)


@pytest.mark.parametrize(
    ("ratio", "warning"),
    [
        ("0.9", []),
        (
            "0.95",
            ["vm_memory_high_watermark_paging_ratio = 0.95: publishers may be blocked before paging has freed memory"],
        ),
        ("1.5", ["vm_memory_high_watermark_paging_ratio = 1.5: contents are never paged out"]),
    ],
)
def test_c2_c4_a_high_paging_ratio_is_taken_with_a_warning(ratio, warning):
    config = configured(f"vm_memory_high_watermark_paging_ratio = {ratio}")
    assert config.settings.watermarks.paging_ratio == float(ratio)
    assert config.warnings == warning


def test_d2_an_absolute_disk_limit():
    assert marks_of("disk_free_limit.absolute = 1000000000").disk_limit_octets == 10**9
    assert marks_of("disk_free_limit.absolute = 1GB").disk_limit_octets == 10**9


def test_d3_a_disk_limit_of_as_much_as_there_is_memory():
    marks = marks_of("disk_free_limit.relative = 1.0")
    marks.set_total(total_of(10**9))
    assert (10**9, None) == (marks.disk_limit_octets, marks.disk_octets)


def test_d2_of_both_forms_the_absolute_one_has_precedence():
    config = configured("disk_free_limit.relative = 2\ndisk_free_limit.absolute = 5")
    assert config.settings.watermarks.disk_limit_octets == 5
    (warning,) = config.warnings
    assert warning == (
        "Both disk_free_limit.absolute and disk_free_limit.relative are configured. "
        "disk_free_limit.absolute has precedence (f:1, f:2)"
    )


def test_how_memory_is_counted_and_how_often():
    marks = marks_of("vm_memory_calculation_strategy = rss\nmemory_monitor_interval = 2500")
    assert ("rss", 2_500) == (marks.strategy, marks.memory_interval_ms)


def test_a_limit_without_its_form_names_both():
    (problem,) = problems_of("disk_free_limit = 1GB")
    assert problem == (
        "f:1: unknown key disk_free_limit; did you mean disk_free_limit.relative or disk_free_limit.absolute?"
    )


def test_all_problems_are_found_and_the_first_one_is_the_text():
    with pytest.raises(ConfigError) as caught:
        configured("a\nheartbeat = x\nb = 1")
    assert len(caught.value.problems) == 3
    assert caught.value.text == "f:1: expected 'key = value', found 'a' (and 2 more: see pybroker --check)"
    assert caught.value.code == 78


@pytest.mark.parametrize(
    "text",
    [
        "heartbeet = 1\n" * 2_000,
        "".join(f"key{n} = 1\n" for n in range(2_000)),
        "no line\n" * 2_000,
        f"[{{rabbit, [{','.join(f'{{key{n}, 1}}' for n in range(2_000))}]}}].",
        "[{rabbit, [" + "\nx," * 2_000 + "{heartbeat, 1}]}].",
        "[" + "\n{x, [1]}," * 2_000 + "{rabbit, []}].",
    ],
)
def test_of_very_many_faults_the_first_hundred_are_told(text):
    found = problems_of(text)
    assert len(found) <= 102
    assert any(problem.endswith("too many faults, the rest is not checked") for problem in found)


written = st.one_of(
    st.binary(max_size=60),
    st.tuples(st.sampled_from(sorted(KEYS)), st.text(max_size=20)).map(lambda pair: f"{pair[0]} = {pair[1]}".encode()),
    st.tuples(st.sampled_from(sorted(RULES)), st.text("[]{}<>,.'\"% 01eax-_", max_size=20)).map(
        lambda pair: f"[{{rabbit, [{{{pair[0]}, {pair[1]}}}]}}].".encode()
    ),
)


@given(written)
def test_any_file_is_a_configuration_or_problems_with_a_place(octets):
    try:
        configure(*parse_conf(octets, "f"))
    except ConfigError as error:
        found = error.problems
    else:
        found = ["f:1: "]
    assert all(re.match(r"f:[1-9][0-9]*: ", problem) for problem in found)


def test_a_refused_password_is_not_shown():
    assert problems_of("default_pass = ''") == ["f:1: default_pass = ...: expected a non-empty text"]


def test_a_later_assignment_wins():
    config = configure([Assignment("heartbeat", "1", "f:1"), Assignment("heartbeat", "2", "--x")])
    assert config.settings.heartbeat_s == 2

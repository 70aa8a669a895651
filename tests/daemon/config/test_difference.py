"""The differences between files and node, and how much of them a reload applies."""

import pytest

from pybroker.daemon.config.conf_file import parse_conf
from pybroker.daemon.config.config import ConfigError, configure
from pybroker.daemon.config.difference import Change, compare, reloaded, take_over
from pybroker.daemon.config.environment import effective
from pybroker.daemon.config.keys import KEYS, RELOAD, RESTART
from pybroker.daemon.config.options import Options

# With a TLS listener its options have an effect.
TLS = """
listeners.ssl.1 = 5671
ssl_options.certfile = /certificate
ssl_options.cacertfile = /authority
ssl_options.verify = verify_peer
"""
# Of each key that a reload applies: lines with another value than the default, or than TLS has.
LINES = {
    "ssl_handshake_timeout": "ssl_handshake_timeout = 1000",
    "ssl_options.cacertfile": "ssl_options.cacertfile = /other",
    "ssl_options.certfile": "ssl_options.certfile = /other",
    "ssl_options.keyfile": "ssl_options.keyfile = /key",
    "ssl_options.password": "ssl_options.password = secret",
    "ssl_options.verify": "ssl_options.verify = verify_none",
    "ssl_options.fail_if_no_peer_cert": "ssl_options.fail_if_no_peer_cert = true",
    "ssl_options.depth": "ssl_options.depth = 2",
    "ssl_options.versions.N": "ssl_options.versions.1 = tlsv1.3",
    "ssl_options.ciphers.N": "ssl_options.ciphers.1 = ECDHE-RSA-AES256-GCM-SHA384",
    "ssl_options.honor_cipher_order": "ssl_options.honor_cipher_order = true",
    "ssl_options.dhfile": "ssl_options.dhfile = /dh",
    "ssl_options.sni.HOST.certfile": "ssl_options.sni.a.certfile = /a",
    "ssl_options.sni.HOST.keyfile": "ssl_options.sni.a.keyfile = /a\nssl_options.sni.a.certfile = /b",
    "proxy_protocol": "proxy_protocol = true\nproxy_protocol.trusted.1 = 10.0.0.1",
    "proxy_protocol.trusted.N": "proxy_protocol = true\nproxy_protocol.trusted.1 = 10.0.0.0/8",
    "handshake_timeout": "handshake_timeout = 5000",
    "heartbeat": "heartbeat = 20",
    "frame_max": "frame_max = 8192",
    "initial_frame_max": "initial_frame_max = 8192",
    "stream.frame_max": "stream.frame_max = 8192",
    "stream.initial_frame_max": "stream.initial_frame_max = 4096",
    "stream.heartbeat": "stream.heartbeat = 20",
    "stream.advertised_host": "stream.advertised_host = broker.example.org",
    "stream.advertised_port": "stream.advertised_port = 1",
    "stream.advertised_tls_host": "stream.advertised_tls_host = broker.example.org",
    "stream.durability": "stream.durability = os",
    "stream.advertised_tls_port": "stream.advertised_tls_port = 1",
    "channel_max": "channel_max = 100",
    "connection_max": "connection_max = 10",
    "cluster_queue_limit": "cluster_queue_limit = 10",
    "channel_max_per_node": "channel_max_per_node = 10",
    "consumer_max_per_channel": "consumer_max_per_channel = 10",
    "consumer_max_per_connection": "consumer_max_per_connection = 10",
    "consumer_timeout": "consumer_timeout = 60000",
    "max_message_size": "max_message_size = 1MB",
    "auth_mechanisms.N": "auth_mechanisms.1 = PLAIN",
    "ssl_cert_login_from": "ssl_cert_login_from = common_name",
    "ssl_cert_login_san_type": "ssl_cert_login_san_type = email",
    "ssl_cert_login_san_index": "ssl_cert_login_san_index = 1",
    "password_hashing_module": "password_hashing_module = rabbit_password_hashing_sha256",
    "default_queue_type": "default_queue_type = quorum",
    "default_limits.vhosts.NAME.pattern": "default_limits.vhosts.a.pattern = ^a",
    "default_limits.vhosts.NAME.max_connections": "default_limits.vhosts.a.max_connections = 1",
    "default_limits.vhosts.NAME.max_queues": "default_limits.vhosts.a.max_queues = 1",
    "default_policies.operator.NAME.vhost_pattern": "default_policies.operator.a.vhost_pattern = ^a\n"
    "default_policies.operator.a.max_length = 1",
    "default_policies.operator.NAME.queue_pattern": "default_policies.operator.a.queue_pattern = ^a\n"
    "default_policies.operator.a.max_length = 1",
    "default_policies.operator.NAME.expires": "default_policies.operator.a.expires = 1h",
    "default_policies.operator.NAME.message_ttl": "default_policies.operator.a.message_ttl = 1h",
    "default_policies.operator.NAME.max_length": "default_policies.operator.a.max_length = 1",
    "default_policies.operator.NAME.max_length_bytes": "default_policies.operator.a.max_length_bytes = 1",
    "default_policies.operator.NAME.delivery_limit": "default_policies.operator.a.delivery_limit = 1",
    "default_users.USER.vhost_pattern": "default_users.a.vhost_pattern = ^a",
    "default_users.USER.password": "default_users.a.password = a",
    "default_users.USER.tags": "default_users.a.tags = management",
    "default_users.USER.configure": "default_users.a.configure = ^a",
    "default_users.USER.write": "default_users.a.write = ^a",
    "default_users.USER.read": "default_users.a.read = ^a",
    "loopback_users": "loopback_users = none",
    "loopback_users.USER": "loopback_users.a = true",
    "vm_memory_high_watermark.relative": "vm_memory_high_watermark.relative = 0.6",
    "vm_memory_high_watermark.absolute": "vm_memory_high_watermark.absolute = 1GB",
    "vm_memory_high_watermark_paging_ratio": "vm_memory_high_watermark_paging_ratio = 0.6",
    "vm_memory_calculation_strategy": "vm_memory_calculation_strategy = rss",
    "memory_monitor_interval": "memory_monitor_interval = 500",
    "total_memory_available_override_value": "total_memory_available_override_value = 8GiB",
    "disk_free_limit.relative": "disk_free_limit.relative = 0.1",
    "disk_free_limit.absolute": "disk_free_limit.absolute = 1MB",
    "amqp.consumer_timeout": "amqp.consumer_timeout = close",
    "amqp.flow": "amqp.flow = refuse",
    "amqp.immediate": "amqp.immediate = refuse",
    "quorum_queue.property_equivalence.relaxed_checks_on_redeclaration": (
        "quorum_queue.property_equivalence.relaxed_checks_on_redeclaration = true"
    ),
    "amqp.server_properties.product": "amqp.server_properties.product = pybroker",
    "log.file.level": "log.file.level = debug",
    "log.file.formatter": "log.file.formatter = json",
    "log.console.level": "log.console.level = error",
    "log.console.formatter": "log.console.formatter = json",
    "log.journald.level": "log.journald.level = debug",
    "telemetry.interval": "telemetry.interval = 5000",
    "telemetry.retention": "telemetry.retention = 3",
}


def config_of(text="", name="f"):
    assignments, problems = parse_conf(text.encode(), name)
    config = configure(assignments, problems)
    config.name_node("n@h")
    return config


def reload(running, text):
    """Do what a reload does with the values; return the changes."""
    wanted = config_of(text)
    changes = compare(running, wanted)
    take_over(running, reloaded(running, wanted))
    return changes


def state(config):
    """Return all values of a configuration, but for what notes where they are from."""
    marks = config.settings.watermarks
    limits = {name: getattr(marks, name) for name in type(marks).__slots__ if name not in {"measured", "total"}}
    owner = config.settings
    settings = {name: getattr(owner, name) for name in type(owner).__slots__ if name != "watermarks"}
    notes = {"settings", "assignments", "overridden", "options", "warnings"}
    return {name: getattr(config, name) for name in type(config).__slots__ if name not in notes} | settings | limits


# Keys with a single value, or the same as another key's.
SINGLE = {
    f"ssl_options.{name}"
    for name in ("honor_ecc_order", "client_renegotiation", "secure_renegotiate", "reuse_sessions")
}


def test_each_reloadable_key_is_tried():
    assert LINES.keys() | SINGLE == {name for name, key in KEYS.items() if key.change == RELOAD}


@pytest.mark.parametrize("name", LINES)
def test_a_reload_applies_the_key_and_takes_it_back(name):
    base = [line for line in TLS.splitlines() if f"{line.partition(' = ')[0]} =" not in LINES[name]]
    text, base = "\n".join([LINES[name], *base]), TLS
    running = config_of(base)
    before, rows = state(running), effective(running)
    assert state(config_of(text)) != before
    assert {each.change for each in reload(running, text)} == {RELOAD}
    assert state(running) == state(config_of(text))
    shown = {row.key: row.value for row in effective(running)}
    assert shown == {row.key: row.value for row in effective(config_of(text))}
    assert {each.change for each in reload(running, base)} == {RELOAD}
    assert state(running) == before
    assert effective(running) == rows


def test_a_difference_names_both_values_both_places_and_what_it_needs():
    wanted = config_of("\nheartbeat = 20\ndefault_user = a\n", "g")
    changes = compare(config_of("heartbeat = 10\nlog.dir = /a\n"), wanted)
    assert changes[0] == Change("heartbeat", "10", "20", "f:1", "g:2", "reload")
    assert [(each.key, each.change) for each in changes] == [
        ("heartbeat", "reload"),
        ("default_user", "new node"),
        ("log.dir", "restart"),
        ("log.file", "restart"),
        ("log.audit", "restart"),
    ]


def test_a_key_of_a_list_comes_and_goes():
    running = config_of("loopback_users.a = true\n")
    assert [each[:3] for each in compare(running, config_of("loopback_users.b = true\n"))] == [
        ("loopback_users.a", "true", None),
        ("loopback_users.b", None, "true"),
    ]


def test_another_spelling_is_no_difference():
    assert compare(config_of("frame_max = 128KB\n"), config_of("")) == []
    assert compare(config_of("max_message_size = 1MB\n"), config_of("max_message_size = 1048576\n")) == []


def test_all_keys_may_be_listed():
    changes = compare(config_of(), config_of("heartbeat = 20\n"), everything=True)
    assert {each.key: each.change for each in changes}["channel_max"] == "same"
    assert [each.key for each in changes if each.change != "same"] == ["heartbeat"]


def test_passwords_differ_without_being_shown():
    running = config_of("default_users.a.password = one\ndefault_pass = one\n")
    changes = compare(running, config_of("default_users.a.password = two\ndefault_pass = two\n"))
    assert [(each.key, each.running, each.files) for each in changes] == [
        ("default_pass", "***", "***"),
        ("default_users.a.password", "***", "***"),
    ]


def test_what_needs_a_restart_stays_and_stays_different():
    running = config_of("data_dir = /a\nheartbeat = 10\n")
    before = state(running)
    reload(running, "data_dir = /b\nlisteners.tcp.x = 7\ndefault_vhost = b\nheartbeat = 20\n")
    assert state(running) == {**before, "heartbeat_s": 20}
    changes = reload(running, "data_dir = /b\nlisteners.tcp.x = 7\ndefault_vhost = b\nheartbeat = 20\n")
    assert {each.key for each in changes} >= {"data_dir", "listeners.tcp.x", "default_vhost"}
    assert {each.change for each in changes} == {"restart", "new node"}


def set_at_run_time(config, key, value):
    """Do what a command does."""
    settings = config.settings
    settings.changed(key, value)
    if key == "log.file.level":
        config.log_level = value
    elif key == "heartbeat":
        settings.heartbeat_s = int(value)
    elif key == "loopback_users":
        settings.loopback_users = frozenset({value})
    elif key == "vm_memory_high_watermark.relative":
        settings.watermarks.set_memory_relative(float(value))
    elif key == "disk_free_limit.absolute":
        settings.watermarks.set_disk_octets(int(value))


@pytest.mark.parametrize(
    ("key", "value", "before", "other"),
    [
        ("log.file.level", "debug", "", "log.file.level = error"),
        ("log.file.level", "debug", "log.file.level = error", ""),
        ("heartbeat", "7", "heartbeat = 8", "heartbeat = 9"),
        ("loopback_users", "a", "loopback_users = none", "loopback_users.b = true"),
        ("vm_memory_high_watermark.relative", "0.7", "", "vm_memory_high_watermark.absolute = 1GB"),
        ("vm_memory_high_watermark.relative", "0.7", "vm_memory_high_watermark.absolute = 1GB", ""),
        ("disk_free_limit.absolute", "1000", "disk_free_limit.relative = 1.0", "disk_free_limit.relative = 2.0"),
    ],
)
def test_a_value_set_at_run_time_stays_until_the_files_say_another(key, value, before, other):
    running = config_of(before)
    set_at_run_time(running, key, value)
    as_set = state(running)
    changes = reload(running, f"{before}\nchannel_max = 5\n")
    assert {each.key: each.change for each in changes}.pop(key) == "kept"
    assert state(running) == {**as_set, "channel_max": 5}
    reload(running, other)
    assert state(running) == state(config_of(other))
    assert running.settings.set_at_run_time == {}


def test_the_name_of_the_cluster_that_a_command_has_set_stays():
    running = config_of()
    running.settings.cluster_name = "mine"
    running.settings.changed("cluster_name", "mine")
    reload(running, "cluster_name = theirs\n")
    assert running.settings.cluster_name == "mine"
    assert {row.key: row for row in effective(running)}["cluster_name"].source == "pybrokerctl"


def test_what_the_files_are_is_known_after_a_reload():
    running, wanted = config_of(), config_of("heartbeat = 20\n")
    wanted.options = Options(port="7")
    wanted.settings.config_files = ("f",)
    take_over(running, reloaded(running, wanted))
    assert running.options.port == "7"
    assert running.settings.config_files == ("f",)


def test_measurements_go_on():
    running = config_of()
    measured = running.settings.watermarks.measured
    reload(running, "vm_memory_high_watermark.relative = 0.6\n")
    assert running.settings.watermarks.measured is measured


def test_options_of_tls_stay_with_its_listeners_until_a_restart():
    running = config_of(TLS)
    wanted = config_of("heartbeat = 20\nlisteners.ssl = none\n")
    changes = {each.key: each.change for each in compare(running, wanted)}
    assert changes["ssl_options.certfile"] == RESTART
    assert changes["heartbeat"] == RELOAD
    take_over(running, reloaded(running, wanted))
    assert running.settings.heartbeat_s == 20
    assert running.tls == config_of(TLS).tls


def test_a_mixture_that_cannot_be_is_refused():
    with pytest.raises(ConfigError):
        reloaded(config_of(), config_of("default_policies.operator.a.queue_pattern = ^a\n"))

"""Each setting of the classic form: the keys it comes to, and the types it refuses."""

import pytest

from pybroker.daemon.config.classic.classic_rules import RULES
from pybroker.daemon.config.conf_file import parse_conf
from pybroker.daemon.config.config import configure
from pybroker.daemon.config.keys import KEYS, find_key

FORMS = {
    "tcp_listeners": ["[5672]", '[{"127.0.0.1", 5672}]', '[{"::1", 5672}, 5673]', '[{"auto", 5672}]', "[]"],
    "tcp_listen_options": ["[{backlog, 128}]", "[]"],
    "ssl_listeners": ["[]"],
    "ssl_options": [
        '[{cacertfile, "/ca.pem"}, {certfile, "/c.pem"}, {keyfile, <<"/k.pem">>}, {password, "p"}]',
        '[{dhfile, "/dh.pem"}]',
        "[{verify, verify_peer}, {fail_if_no_peer_cert, true}, {depth, 2}, {honor_cipher_order, true}]",
        "[{versions, ['tlsv1.2', 'tlsv1.3']}, {ciphers, [\"ECDHE-RSA-AES256-GCM-SHA384\"]}]",
        "[{honor_ecc_order, false}, {client_renegotiation, false}, {secure_renegotiate, true}, {reuse_sessions, true}]",
        "[]",
    ],
    "ssl_handshake_timeout": ["5000"],
    "proxy_protocol": ["false"],
    "proxy_protocol_trusted": ['["10.0.0.5", <<"10.1.0.0/16">>]', "[]"],
    "handshake_timeout": ["10000"],
    "heartbeat": ["60"],
    "frame_max": ["131072"],
    "initial_frame_max": ["4096"],
    "channel_max": ["2047"],
    "connection_max": ["100", "infinity"],
    "channel_max_per_node": ["100", "infinity"],
    "consumer_max_per_channel": ["16", "infinity"],
    "password_hashing_module": ["rabbit_password_hashing_sha512", "argon2id"],
    "consumer_timeout": ["900000", "undefined"],
    "max_message_size": ["16777216"],
    "quorum_relaxed_checks_on_redeclaration": ["true", "false"],
    "cluster_name": ['<<"c">>', '"c"'],
    "auth_mechanisms": ["['PLAIN', 'AMQPLAIN']"],
    "ssl_cert_login_from": ["common_name", "distinguished_name", "subject_alternative_name", "subject_alt_name"],
    "ssl_cert_login_san_type": ["dns", "ip", "email", "uri", "other_name"],
    "ssl_cert_login_san_index": ["1"],
    "default_vhost": ['<<"/">>'],
    "default_queue_type": ["rabbit_quorum_queue", "rabbit_classic_queue"],
    "default_user": ['<<"guest">>'],
    "default_pass": ['<<"p#w">>'],
    "default_user_tags": ["[administrator, monitoring]", "[]"],
    "default_permissions": ['[<<".*">>, <<"^a">>, <<"">>]'],
    "loopback_users": ['[<<"guest">>, <<"bob.smith">>]', "[]"],
    "vm_memory_high_watermark": ["0.4", "1", "{absolute, 1073741824}", '{absolute, "1GiB"}', "{relative, 0.5}"],
    "vm_memory_high_watermark_paging_ratio": ["0.75", "2"],
    "vm_memory_calculation_strategy": ["rss", "allocated"],
    "memory_monitor_interval": ["2500"],
    "total_memory_available_override_value": ["8589934592", '"8GB"'],
    "disk_free_limit": ["50000000", '"1GB"', "{mem_relative, 1.0}", "{absolute, 5}"],
    "load_definitions": ['"/etc/d.json"', '<<"/etc/d">>'],
    "definitions": [
        '[{import_backend, local_filesystem}, {local_path, "/etc/d"}, {skip_if_unchanged, true}]',
        "[{import_backend, rabbit_definitions_import_local_filesystem}]",
        "[]",
    ],
    "log": ['[{file, [{file, "x.log"}, {level, debug}]}, {console, [{enabled, true}, {level, error}]}]', "[]"],
    "log_root": ['"/var/log/x"'],
}


def parsed(key, value):
    return parse_conf(f"[{{rabbit, [{{{key}, {value}}}]}}].".encode(), "f")


def test_every_setting_is_tried_here():
    assert sorted(FORMS) == sorted(RULES)


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in FORMS.items() for value in values])
def test_a_setting_becomes_keys_that_are_taken(key, value):
    assignments, problems = parsed(key, value)
    assert problems == []
    configure(assignments)
    assert all((find_key(each.key) or ("",))[0] in KEYS for each in assignments)


@pytest.mark.parametrize(
    ("key", "value", "lines"),
    [
        ("tcp_listeners", "[5672]", ["listeners.tcp.1 = 5672"]),
        ("tcp_listeners", '[{"::1", 1}, {"auto", 2}]', ["listeners.tcp.1 = ::1:1", "listeners.tcp.2 = 2"]),
        ("tcp_listeners", "[]", ["listeners.tcp = none"]),
        ("proxy_protocol", "true", ["proxy_protocol = true"]),
        (
            "proxy_protocol_trusted",
            '["10.0.0.5", <<"10.1.0.0/16">>]',
            ["proxy_protocol.trusted.1 = 10.0.0.5", "proxy_protocol.trusted.2 = 10.1.0.0/16"],
        ),
        ("tcp_listen_options", "[{backlog, 128}]", ["tcp_listen_options.backlog = 128"]),
        ("auth_mechanisms", "['AMQPLAIN', 'PLAIN']", ["auth_mechanisms.1 = AMQPLAIN", "auth_mechanisms.2 = PLAIN"]),
        ("default_user_tags", "[monitoring]", ["default_user_tags.monitoring = true"]),
        ("default_user_tags", "[]", ["default_user_tags.administrator = false"]),
        (
            "default_permissions",
            '[<<"c">>, "w", <<"r">>]',
            ["default_permissions.configure = c", "default_permissions.write = w", "default_permissions.read = r"],
        ),
        ("loopback_users", "[]", ["loopback_users = none"]),
        ("loopback_users", '[<<"a.b">>]', ["loopback_users.a.b = true"]),
        ("consumer_max_per_channel", "infinity", ["consumer_max_per_channel = infinity"]),
        ("consumer_timeout", "undefined", ["consumer_timeout = undefined"]),
        ("vm_memory_high_watermark", "0.4", ["vm_memory_high_watermark.relative = 0.4"]),
        ("vm_memory_high_watermark", '{absolute, "1GiB"}', ["vm_memory_high_watermark.absolute = 1GiB"]),
        ("disk_free_limit", '"1GB"', ["disk_free_limit.absolute = 1GB"]),
        ("disk_free_limit", "{mem_relative, 1.0}", ["disk_free_limit.relative = 1.0"]),
        (
            "definitions",
            '[{local_path, "/etc/d"}, {skip_if_unchanged, true}]',
            ["definitions.local.path = /etc/d", "definitions.skip_if_unchanged = true"],
        ),
        (
            "default_user",
            '<<"\N{LATIN SMALL LETTER E WITH ACUTE}"/utf8>>',
            ["default_user = \N{LATIN SMALL LETTER E WITH ACUTE}"],
        ),
        (
            "log",
            "[{file, [{file, false}, {level, debug}]}, {console, [{enabled, true}]}]",
            ["log.file = false", "log.file.level = debug", "log.console = true"],
        ),
        (
            "log",
            "[{console, [{stdio, stderr}]}, {journald, [{enabled, true}, {level, error}]}]",
            ["log.console.stdio = stderr", "log.journald = true", "log.journald.level = error"],
        ),
    ],
)
def test_what_a_setting_comes_to(key, value, lines):
    assignments, problems = parsed(key, value)
    assert problems == []
    assert [f"{each.key} = {each.value}" for each in assignments] == lines


def test_a_user_whose_name_has_a_dot_is_one_user():
    assignments, _ = parsed("loopback_users", '[<<"a.b">>]')
    assert configure(assignments).settings.loopback_users == frozenset({"a.b"})


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("tcp_listeners", "5672", "expected a list, found 5672"),
        ("tcp_listeners", '["127.0.0.1"]', 'expected a port or {"address", port}, found "127.0.0.1"'),
        ("tcp_listeners", "[{{127,0,0,1}, 1}]", 'expected a port or {"address", port}, found {{127,0,0,1},1}'),
        ("tcp_listeners", '[{"::1", "1"}]', 'expected a port or {"address", port}, found {"::1","1"}'),
        ("heartbeat", "1.5", "expected an integer, found 1.5"),
        ("heartbeat", "infinity", "expected an integer, found infinity"),
        ("default_user", "guest", 'expected a text, such as <<"text">>, found guest'),
        ("default_user", "<<255>>", 'expected a text, such as <<"text">>, found <<255>>'),
        ("default_user", '<<"a",0>>', 'expected a text, such as <<"text">>, found <<"a\\x{0}">>'),
        ("default_user_tags", '["monitoring"]', 'expected an atom, found "monitoring"'),
        (
            "default_permissions",
            '[<<".*">>]',
            'expected [<<"configure">>, <<"write">>, <<"read">>], found [<<".*">>]',
        ),
        ("auth_mechanisms", "[]", "expected ['PLAIN', 'AMQPLAIN'] or one of them, found []"),
        ("vm_memory_high_watermark_paging_ratio", '"0.5"', 'expected a number, such as 0.4, found "0.5"'),
        (
            "vm_memory_high_watermark",
            "{absolut, 5}",
            'expected a number, such as 0.4, or {absolute, 1073741824} or {absolute, "1GiB"}, found {absolut,5}',
        ),
        (
            "disk_free_limit",
            "{alone, 5}",
            'expected octets, such as 1000000000 or "1GB", or {mem_relative, 1.0}, found {alone,5}',
        ),
        ("vm_memory_high_watermark", "{absolute, 0.4}", 'expected octets, such as 1000000000 or "1GB", found 0.4'),
        (
            "disk_free_limit",
            "{mem_relative, {a, b}}",
            'expected octets, such as 1000000000 or "1GB", or {mem_relative, 1.0}, found {mem_relative,{a,b}}',
        ),
        ("disk_free_limit", "0.5", 'expected octets, such as 1000000000 or "1GB", found 0.5'),
        ("log", "[{console, [{enabled, 1}]}]", "expected true or false, found 1"),
        ("log", "[5]", "expected {key, value}, found 5"),
    ],
)
def test_another_type_is_refused(key, value, problem):
    assert parsed(key, value) == ([], [f"f:1: {key}: {problem}"])


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("tcp_listen_options", "[binary, {backlog, 1}]", "tcp_listen_options.binary is a key of RabbitMQ "),
        ("tcp_listen_options", "[{nodelay, true}]", "tcp_listen_options.nodelay is a key of RabbitMQ "),
        ("log", "[{exchange, [{enabled, true}]}]", "log.exchange is a key of RabbitMQ "),
        ("log", '[{file, [{date, "$D0"}]}]', "log.file.date is a key of RabbitMQ "),
    ],
)
def test_a_part_that_would_change_nothing_is_refused_with_the_reason(key, value, problem):
    _, (found,) = parsed(key, value)
    assert found.startswith(f"f:1: {problem}")

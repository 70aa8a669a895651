"""Defaults that clients see: RabbitMQ's but where the test says otherwise."""

from pybroker.core.settings import MESSAGE_OCTETS_CEILING, Settings


def test_defaults_are_rabbitmqs():
    settings = Settings()
    assert (131_072, 4_096, 2_047, 60) == (
        settings.frame_octets_max,
        settings.frame_octets_max_initial,
        settings.channel_max,
        settings.heartbeat_s,
    )
    assert settings.handshake_timeout_ms == 10_000
    assert (134_217_728, 536_870_912) == (settings.message_octets_max, MESSAGE_OCTETS_CEILING)
    assert ("/", "guest", "guest", ("administrator",), (".*", ".*", ".*")) == (
        settings.default_vhost,
        settings.default_user,
        settings.default_pass,
        settings.default_user_tags,
        settings.default_permissions,
    )
    assert ({"guest"}, ("PLAIN", "AMQPLAIN")) == (settings.loopback_users, settings.auth_mechanisms)


def test_optional_methods_are_answered_unless_they_are_refused():
    settings = Settings()
    assert not settings.refuse_immediate
    assert not settings.refuse_flow


def test_two_nodes_share_no_setting():
    one, other = Settings(), Settings()
    one.loopback_users = frozenset()
    assert {"guest"} == other.loopback_users


def test_what_is_set_while_the_node_runs_is_remembered_the_latest_last():
    settings = Settings()
    for key, value in (("a", "1"), ("b", "2"), ("a", "3")):
        settings.changed(key, value)
    assert [("b", "2"), ("a", "3")] == list(settings.set_at_run_time.items())

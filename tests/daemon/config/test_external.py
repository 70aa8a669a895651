import pytest

from pybroker.daemon.config.conf_file import Assignment
from pybroker.daemon.config.config import ConfigError, configure
from pybroker.daemon.config.external import find_faults, find_oddities

VERIFY, NEED = ("ssl_options.verify", "verify_peer"), ("ssl_options.fail_if_no_peer_cert", "true")
MECHANISM = ("auth_mechanisms.2", "EXTERNAL")


def faults(*given: tuple[str, str]) -> list[str]:
    return find_faults([Assignment(key, value, f"f:{line}") for line, (key, value) in enumerate(given, 1)])


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ([], "ssl_options.verify = verify_peer and ssl_options.fail_if_no_peer_cert = true"),
        ([VERIFY], "ssl_options.fail_if_no_peer_cert = true"),
        ([NEED], "ssl_options.verify = verify_peer"),
        ([NEED, VERIFY, ("ssl_options.verify", "verify_none")], "ssl_options.verify = verify_peer"),
    ],
)
def test_external_is_refused_where_tls_does_not_verify_each_client(given, missing):
    unsafe = "TLS configuration is unsafe: a client could do without a verified certificate"
    assert [f"f:1: auth_mechanisms.2 = EXTERNAL: {unsafe}; add {missing}"] == faults(MECHANISM, *given)


def test_external_is_taken_where_it_is_safe_and_others_everywhere():
    assert faults(MECHANISM, VERIFY, NEED) == []
    assert faults(("auth_mechanisms.1", "PLAIN")) == []


def test_the_configuration_is_refused_with_it():
    with pytest.raises(ConfigError, match="TLS configuration is unsafe"):
        configure([Assignment(*MECHANISM, "f:1")])


@pytest.mark.parametrize(
    ("mechanisms", "listeners", "text"),
    [
        (("EXTERNAL",), {"has_tls": True, "has_plain": False}, None),
        (("EXTERNAL", "PLAIN"), {"has_tls": True, "has_plain": True}, None),
        (("PLAIN",), {"has_tls": False, "has_plain": True}, None),
        (("EXTERNAL",), {"has_tls": True, "has_plain": True}, "EXTERNAL alone: nobody can log in at the listeners"),
        (("EXTERNAL", "PLAIN"), {"has_tls": False, "has_plain": True}, "there is no TLS listener"),
    ],
)
def test_listeners_at_which_nobody_can_log_in_are_warned_of(mechanisms, listeners, text):
    found = find_oddities(mechanisms, **listeners)
    assert [text in one for one in found] == ([] if text is None else [True])


def test_a_start_warns():
    config = configure([Assignment(*each, "f:1") for each in (MECHANISM, VERIFY, NEED)])
    assert any("there is no TLS listener" in warning for warning in config.warnings)

"""Every key is explained, by the words of the manual page."""

import re

import pytest

from pybroker.daemon.config.conf_file import Assignment
from pybroker.daemon.config.config import configure
from pybroker.daemon.config.explanation import UnknownKeyError, explain, meanings
from pybroker.daemon.config.keys import KEYS, NEW_NODE, RESTART
from tests.man_keys import MEANINGS, PAGE, meanings as of_page, plain


def config_of(*given):
    config = configure([Assignment(*each) for each in given])
    config.name_node("n@h")
    return config


def test_the_meanings_are_those_of_the_manual_page():
    assert MEANINGS.read_text() == of_page(), "run `python -m tests.man_keys`"


def test_the_page_names_the_keys_that_a_reload_does_not_apply():
    section = PAGE.read_text().partition("\n.SH RELOADING\n")[2].partition("\n.SH ")[0]
    restart, new_node = section.split("\n.PP\n")[1:]
    for text, change in ((restart, RESTART), (new_node.partition("\n")[2], NEW_NODE)):
        named = plain(text.splitlines()).rstrip(".").split(", ")
        assert sorted(named) == sorted(name for name, key in KEYS.items() if key.change == change), change


@pytest.mark.parametrize("name", KEYS)
def test_every_key_is_explained(name):
    told = explain(name, config_of())
    assert told["meaning"]
    assert told["form"]
    assert told["change"] in {"reload", "restart", "new node"}
    assert told["rabbitmq"]
    assert told["message"].startswith(f"{name} = {told['form']}\n")


@pytest.mark.parametrize("name", KEYS)
def test_a_meaning_can_be_read_alone(name):
    assert not re.match(r"(Its|Likewise|Same|The same|They|Which|These|This)\b", meanings()[name].text)


def test_no_more_and_no_less_is_explained():
    assert meanings().keys() == KEYS.keys()


def test_a_value_its_source_and_what_it_has_overridden():
    config = config_of(("heartbeat", "20", "b.conf:1"))
    config.overridden = (Assignment("heartbeat", "10", "a.conf:1"), Assignment("channel_max", "1", "a.conf:2"))
    told = explain("heartbeat", config)
    assert told["values"] == [{"key": "heartbeat", "value": "20", "source": "b.conf:1"}]
    assert told["overridden"] == [{"key": "heartbeat", "value": "10", "source": "a.conf:1"}]
    assert told["message"] == (
        "heartbeat = N\n\n"
        "Heartbeat interval in seconds that the server proposes; 0 disables heartbeats. Default: 60.\n\n"
        "Values: an integer from 0 to 65535\n"
        "Default: 60\n"
        "In effect: heartbeat = 20 (b.conf:1)\n"
        "Overridden: heartbeat = 10 (a.conf:1)\n"
        "A change needs: reload: pybrokerctl config_reload, or SIGHUP\n"
        "RabbitMQ: the same key; in the classic form the setting heartbeat"
    )


def test_a_key_of_a_list_shows_all_or_the_one_that_is_named():
    config = config_of(("listeners.tcp.a", "1", "f:1"), ("listeners.tcp.b", "2", "f:2"))
    assert [row["value"] for row in explain("listeners.tcp.NAME", config)["values"]] == ["1", "2"]
    assert [row["value"] for row in explain("listeners.tcp.b", config)["values"]] == ["2"]
    assert "In effect: (not set)" in explain("listeners.tcp.c", config)["message"]


def test_words_beside_a_range_are_named():
    assert explain("connection_max", config_of())["range"] == "an integer from 0 to 1000000000, or infinity"
    assert explain("consumer_timeout", config_of())["range"].endswith(", or undefined")


def test_a_key_of_ours_says_so():
    assert explain("amqp.flow", config_of())["rabbitmq"] == "none"
    assert explain("data_dir", config_of())["rabbitmq"] == "none; RabbitMQ uses the variable RABBITMQ_MNESIA_BASE"


def test_passwords_are_not_shown():
    config = config_of(("default_pass", "s3cret", "f:1"))
    config.overridden = (Assignment("default_pass", "s3cret", "a:1"), Assignment("default_pass", "s3cret", "a:2", "/f"))
    told = explain("default_pass", config)
    assert "s3cret" not in str(told)
    assert told["overridden"][1]["value"] == "$(</f)"


def test_an_unknown_key_is_refused_with_the_reason():
    with pytest.raises(UnknownKeyError, match="unknown key hartbeat; did you mean heartbeat"):
        explain("hartbeat", config_of())
    with pytest.raises(UnknownKeyError, match="queue_master_locator is a key of RabbitMQ"):
        explain("queue_master_locator", config_of())

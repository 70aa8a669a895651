import pytest

from pybroker.control.spec import Refused


def test_the_file_is_shown_and_all_places_if_wanted(operator):
    operator.world.broker.settings.log_files = ("/var/log/n.log", "<stdout>")
    assert operator.ask("log_location")["paths"] == ["/var/log/n.log"]
    assert operator.ask("log_location", all=True)["message"] == "/var/log/n.log\n<stdout>"


def test_a_node_without_a_log_says_so(operator):
    with pytest.raises(Refused) as refused:
        operator.ask("log_location")
    assert (refused.value.text, refused.value.exit_code) == ("No log files configured on the node", 69)

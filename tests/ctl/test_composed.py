"""report: several commands in one, in every formatter."""

import json

import pytest

CALLS = [
    {"value": {"calls": [["list_vhosts", {}], ["list_permissions", {"vhost": "v"}], ["os_env", {}]]}},
    {"end": 0},
]
VHOSTS = [{"columns": ["name"]}, ["/"], ["v"], {"end": 2}]
NOBODY = [{"columns": ["user", "configure", "write", "read"]}, {"end": 0}]
ENVIRONMENT = [{"value": {"variables": {"A": "1"}, "message": "A=1"}}, {"end": 0}]


@pytest.fixture
def report(daemon, turns):
    daemon.lines = turns(CALLS, VHOSTS, NOBODY, ENVIRONMENT)
    return daemon


def test_each_answer_comes_as_by_itself(ctl, report):
    code, out, err = ctl("report")
    assert (code, err) == (0, "")
    assert out == (
        "Reporting server status of node pybroker@vm ...\n"
        "\nListing vhosts ...\nname\n/\nv\n"
        '\nListing permissions for vhost "v" ...\n'
        "\nListing environment variables relevant to node pybroker@vm...\nA=1\n"
    )
    assert report.requests[2] == ("list_permissions", {"vhost": "v"})


def test_in_json_it_is_one_object(ctl, report):
    assert json.loads(ctl("report", "--formatter", "json").out) == {
        "list_vhosts": [{"name": "/"}, {"name": "v"}],
        "list_permissions v": [],
        "os_env": {"variables": {"A": "1"}, "message": "A=1"},
    }


def test_in_csv_each_part_has_its_name(ctl, report):
    out = ctl("report", "--formatter", "csv").out
    assert out == '\n"list_vhosts"\n"name"\n"/"\n"v"\n\n"list_permissions v"\n\n"os_env"\n"A=1"\n'


def test_a_part_that_fails_ends_it_with_its_code(ctl, daemon, turns):
    daemon.lines = turns(CALLS, VHOSTS, [{"error": {"text": "gone", "exit_code": 65}}])
    code, out, err = ctl("report", "-q")
    assert code == 65
    assert out == "\nname\n/\nv\n\n"
    assert err == "Error:\ngone\nError:\nthe report ends here: list_permissions v failed\n"


def test_its_json_parses_also_then(ctl, daemon, turns):
    daemon.lines = turns(CALLS, VHOSTS, [{"error": {"text": "gone", "exit_code": 65}}])
    code, out, _ = ctl("report", "--formatter", "json")
    assert code == 65
    assert json.loads(out) == {"list_vhosts": [{"name": "/"}, {"name": "v"}], "list_permissions v": None}

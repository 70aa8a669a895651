"""Tab: what words may become, and what the shells make of it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pybrokerctl.help import completion
from pybrokerctl.help.completion import last_word, replacement
from pybrokerctl.main import main

FILES = Path(__file__).resolve().parents[3] / "etc/completions"
BORDERS = " \t\n\"'><=;|&(:@"


@pytest.fixture
def tab(monkeypatch, capfdbinary):
    """Return what bash is told when Tab is pressed behind a line."""

    def tab(line: str) -> list[str]:
        monkeypatch.setenv("COMP_LINE", line)
        monkeypatch.setenv("COMP_WORDBREAKS", BORDERS)
        monkeypatch.setenv("_PYBROKERCTL_COMPLETE", "bash_complete")
        code = main([])
        out, err = capfdbinary.readouterr()
        assert (code, err) == (0, b"")
        return [item.partition(",")[2] for item in out.decode().split("\n") if item]

    return tab


@pytest.fixture
def queues(daemon):
    daemon.lines = [{"columns": ["name"]}, ["orders"], ["orders:retry"], ["my queue"], ["tab\tbed"], {"end": 4}]
    return daemon


def test_commands_and_options(tab):
    assert tab("pybrokerctl list_q") == ["list_queues"]
    assert tab("pybrokerctl purge_queue --form") == ["--formatter"]
    assert tab("pybrokerctl --form") == ["--formatter"]
    assert tab("pybrokerctl list_queues --off") == ["--offline"]
    assert "--watch" in tab("pybrokerctl list_queues --")
    assert "--watch" not in tab("pybrokerctl purge_queue --")


def test_values_that_are_known_here(tab):
    assert tab("pybrokerctl --formatter ") == ["table", "pretty_table", "json", "csv"]
    assert tab("pybrokerctl list_queues --formatter=p") == ["pretty_table"]
    assert tab("pybrokerctl status --unit g") == ["gb", "gib"]
    assert tab("pybrokerctl completion ") == ["bash", "zsh", "fish"]
    assert tab("pybrokerctl help list_us") == [
        "list_users",
        "list_user_limits",
        "list_user_permissions",
        "list_user_topic_permissions",
    ]


def test_commands_in_two_words(tab, queues):
    assert tab("pybrokerctl stream ") == ["status", "read", "truncate"]
    assert tab("pybrokerctl stream r") == ["read"]
    assert tab("pybrokerctl nothing ") == []
    assert tab("pybrokerctl stream read --fo") == ["--follow", "--format", "--formatter"]
    assert tab("pybrokerctl stream read ord") == ["orders", "orders:retry"]
    assert tab("pybrokerctl report backlog --fail") == ["--fail-on"]


def test_columns_also_behind_a_comma_and_none_twice(tab):
    assert tab("pybrokerctl list_queues disk_r") == ["disk_reads"]
    assert tab("pybrokerctl list_queues name,disk_r") == ["name,disk_reads"]
    assert tab("pybrokerctl list_queues disk_reads,disk_r") == []


def test_nodes_that_run(tab, daemon):
    assert tab("pybrokerctl -n pyb") == ["pybroker@vm"]


def test_names_are_asked_from_the_node(tab, queues):
    assert tab("pybrokerctl purge_queue ord") == ["orders", "orders:retry"]
    assert tab("pybrokerctl -p v purge_queue my") == ["my\\ queue"]
    asked = {"columns": ["name"]}
    assert queues.requests == [("list_queues", asked), ("list_queues", {**asked, "vhost": "v"})]


def test_names_that_no_shell_can_take_are_left_out(tab, queues):
    assert tab("pybrokerctl purge_queue ta") == []


@pytest.mark.parametrize(
    ("line", "command", "column"),
    [
        ("delete_user ", "list_users", "user"),
        ("list_queues -p ", "list_vhosts", "name"),
        ("-p ", "list_vhosts", "name"),
        ("delete_vhost ", "list_vhosts", "name"),
        ("close_connection ", "list_connections", "pid"),
        ("set_topic_permissions u ", "list_exchanges", "name"),
    ],
)
def test_every_kind_of_name_has_its_listing(tab, daemon, line, command, column):
    daemon.lines = [{"columns": ["other", column]}, ["x", "one"], ["x", "two"], {"end": 2}]
    assert tab(f"pybrokerctl {line}") == ["one", "two"]
    assert daemon.requests[0][0] == command


def test_what_is_to_be_new_is_not_completed(tab, daemon):
    assert tab("pybrokerctl add_user ") == tab("pybrokerctl add_vhost ") == []
    assert daemon.requests == []


def test_a_node_that_is_not_there_silent_or_against_it_is_left_alone(tab, folder, start_daemon, monkeypatch):
    assert tab("pybrokerctl purge_queue ") == []
    monkeypatch.setattr(completion, "TIMEOUT_S", 0.05)
    start_daemon()
    assert tab("pybrokerctl purge_queue ") == []


def test_a_silent_node_is_given_up(tab, daemon, monkeypatch):
    monkeypatch.setattr(completion, "TIMEOUT_S", 0.05)
    daemon.silent = True
    assert tab("pybrokerctl purge_queue ") == []


def test_no_more_names_than_somebody_reads(tab, daemon, monkeypatch):
    monkeypatch.setattr(completion, "TIMEOUT_S", 30)
    names = completion.NAMES_MAX
    daemon.lines = [{"columns": ["name"]}, *([f"q{n}"] for n in range(names + 500)), {"end": names + 500}]
    assert len(tab("pybrokerctl purge_queue ")) == names


@pytest.mark.parametrize(
    ("line", "word"),
    [("a b", "b"), ("a ", ""), ("a 'b c", "'b c"), ('a "b c" d', "d"), ("a b\\ c", "b\\ c"), ("", ""), ("a 'b' ", "")],
)
def test_the_last_word_is_found_as_it_is_typed(line, word):
    assert last_word(line) == word


@pytest.mark.parametrize(
    ("typed", "value", "expected"),
    [
        ("ord", "orders", "orders"),
        ("orders:", "orders:retry", "retry"),
        ("orders:r", "orders:retry", "retry"),
        ("a:b@", "a:b@c", "c"),
        ("", "my queue", r"my\ queue"),
        ("'my", "my queue", "my queue"),
        ('"a:', "a:b", "a:b"),
        ("--formatter=j", "json", "json"),
        (r"a\;", "a;b", r"a\;b"),
        ("", "$(x)", r"\$\(x\)"),
        ("", "näme", "näme"),
    ],
)
def test_bash_gets_what_follows_its_last_border(typed, value, expected):
    assert replacement(typed, value, BORDERS) == expected


def test_the_installed_files_are_what_the_program_says(ctl):
    # The scripts for zsh and fish are click's, with other words in each of its versions.
    assert (FILES / "pybrokerctl.bash").read_text() == ctl("completion", "bash").out
    for name, shell in (("_pybrokerctl", "zsh"), ("pybrokerctl.fish", "fish")):
        assert f"_PYBROKERCTL_COMPLETE={shell}_complete" in (FILES / name).read_text()


@pytest.mark.parametrize(
    ("shell", "name"), [("bash", "pybrokerctl.bash"), ("zsh", "_pybrokerctl"), ("fish", "pybrokerctl.fish")]
)
def test_the_shells_understand_them(shell, name):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n", FILES / name], check=True, timeout=60)


def test_bash_completes_by_it(daemon, folder):
    daemon.lines = [{"columns": ["name"]}, ["a:one"], ["a:two words"], {"end": 2}]
    program = folder / "pybrokerctl"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m pybrokerctl "$@"\n')
    program.chmod(0o755)
    script = """
        source "$FILES/pybrokerctl.bash"
        COMP_WORDBREAKS=$' :' COMP_LINE='pybrokerctl purge_queue a:' COMP_POINT=26
        _pybrokerctl_completion pybrokerctl
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    root = str(FILES.parents[1])
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "FILES": str(FILES), "PYTHONPATH": root}
    environment |= {"PYBROKER_SOCKET": str(daemon.path)}
    done = subprocess.run(
        ["bash", "--norc", "-c", script], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("one\ntwo\\ words\n", "")

"""Before something is destroyed a person is asked; a script never."""

import pytest

from pybroker.control import commands
from pybrokerctl.terminal import confirm

DESTROY = {
    "close_all_connections",
    "close_all_user_connections",
    "delete_queue",
    "delete_super_stream",
    "delete_user",
    "delete_vhost",
    "force_reset",
    "log_repair",
    "purge_queue",
    "cancel_scheduled",
    "reset",
    "stream_truncate",
}


@pytest.fixture
def asked(person):
    """Keep the questions; answer with what stands in the list."""
    questions = []

    def answer(text, **options):
        questions.append((text, options))
        return answers.pop(0)

    answers = []
    person.setattr("click.confirm", answer)
    return questions, answers


def test_what_destroys_is_asked_about_and_nothing_else():
    assert {name for name in commands.NAMES if commands.load(name).effect == "destroy"} == DESTROY


def test_no_leaves_everything_as_it_was(ctl, daemon, asked):
    questions, answers = asked
    answers.append(False)
    assert ctl("purge_queue", "q") == (1, "", "Nothing was done.\n")
    assert questions == [("Purging queue 'q' in vhost '/': are you sure?", {"err": True})]
    assert daemon.requests == []


def test_yes_does_it_and_the_question_was_the_banner(ctl, daemon, asked):
    asked[1].append(True)
    assert ctl("purge_queue", "q") == (0, "", "")
    assert daemon.requests == [("purge_queue", {"queue": "q"})]


@pytest.mark.parametrize("words", [["--yes", "purge_queue", "q"], ["purge_queue", "q", "-y"]])
def test_it_can_be_answered_beforehand(ctl, daemon, asked, words):
    assert ctl(*words).code == 0
    assert asked[0] == []


def test_nobody_is_asked_what_only_reads_or_writes(ctl, daemon, asked):
    assert ctl("delete_queue", "q", "--dry-run").code == 0
    assert ctl("close_connection", "<x>", "bye").code == 0
    assert asked[0] == []


def test_a_pipe_is_never_asked(ctl, daemon):
    assert not confirm.is_asked(commands.load("purge_queue"), yes=False)
    assert ctl("purge_queue", "q").code == 0

from pybrokerctl.help.man_text import HEAD, TAIL


def test_the_prose_begins_a_page_and_ends_it():
    assert HEAD.splitlines()[1].startswith(".TH PYBROKERCTL 1")
    assert TAIL.startswith(".SH ENVIRONMENT\n")
    assert HEAD.endswith("\n")
    assert TAIL.endswith("\n")

"""The comparison itself: what it lets pass and what it does not."""

import pytest

from tests.ctl.sample import Answer, Excuse, Sample, differences, load_samples

PLACES = {"node": "pybroker@test", "port": "5672"}
LISTING = Sample("l", "list_users", out=("Listing users ...", "user\ttags"), rows=("a\t[]", "b\t[$name]"))
REFUSAL = Sample("r", "purge_queue q", exit=65, out=("Purging $rest",), err=("Error:", "queue 'q' was not $any"))
DOCUMENT = Sample("d", "status --formatter json", keys=(". object", "list list", "list[] number", "$node string"))


def compare(sample, out, err="", code=0, *excuses):
    return differences(sample, excuses, Answer(code, out, err, PLACES))


def test_rows_come_in_any_order_but_behind_the_header():
    head = "Listing users ...\nuser\ttags\n"
    assert compare(LISTING, head + "b\t[x]\na\t[]\n") == []
    for out in ("b\t[x]\na\t[]\n" + head, head + "a\t[]\na\t[]\n", head + "a\t[]\n", head + "a\t[]\nb\t[x]\nc\t[]\n"):
        assert len(compare(LISTING, out)) == 1


def test_every_stream_and_the_code_count():
    out, err = "Purging queue 'q' ...\n", "Error:\nqueue 'q' was not found\n"
    assert compare(REFUSAL, out, err, 65) == []
    assert compare(REFUSAL, out, err, 69) == ["exit 69, not 65"]
    assert len(compare(REFUSAL, out + err, "", 65)) == 2
    assert len(compare(LISTING, "Listing users ...\nuser\ttags\na\t[]\nb\t[x]\n", "note: x\n")) == 1


def test_keys_and_their_kinds_count():
    assert compare(DOCUMENT, '{"list":[1,2.5],"pybroker@test":"x"}') == []
    told = compare(DOCUMENT, '{"list":["1"],"more":null}')
    assert told == [
        "key missing: $node string",
        "key missing: list[] number",
        "key added: list[] string",
        "key added: more null",
    ]
    assert compare(DOCUMENT, "Status ...")[0].startswith("no JSON")


def test_an_excuse_allows_just_what_it_claims():
    excuse = Excuse(("r",), "because", {"exit": 64}, missing=("Error:",), added=("$int times",))
    assert compare(REFUSAL, "Purging queue 'q' ...\n", "queue 'q' was not found\n3 times\n", 64, excuse) == []
    assert compare(REFUSAL, "Purging queue 'q' ...\n", "queue 'q' was not found\nthree times\n", 64, excuse) != []
    assert excuse.items() == [("fact", "exit"), ("missing", "Error:"), ("added", "$int times")]
    assert excuse.without("fact", "exit").items() == excuse.items()[1:]
    assert excuse.without("added", "$int times").added == ()


def test_a_refused_command_line_is_a_usage_error():
    excuse = Excuse(("l",), "because", refused="Command '$command' not found. ")
    assert compare(LISTING, "", "\nCommand 'list_users' not found. \n\nUsage\n", 64, excuse) == []
    assert compare(LISTING, "", "Command 'list_users' not found. \n", 69, excuse) != []
    assert compare(LISTING, "Listing users ...\n", "Command 'list_users' not found. \n", 64, excuse) != []


@pytest.mark.parametrize(("lines", "drawing"), [("┌──┬─┐\n│ a│b│\n└──┴─┘\n", "utf8"), ("+--+-+\n| a|b|\n+--+-+\n", "")])
def test_tables_are_compared_however_they_are_drawn(lines, drawing):
    sample = Sample("t", "list_users", out=("x", "+--+-+", "| a|b|", "+--+-+"), drawing=drawing or "ascii")
    assert compare(sample, "x\n" + lines) == []


def test_the_text_of_another_sample_is_taken_over():
    samples = load_samples()
    assert samples["noargs"].err == samples["help_help"].out
    assert samples["bad_cmd"].err_rows == samples["help_help"].rows

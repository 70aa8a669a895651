"""The words of reports: each once, the worst first."""

from pybroker.verdicts import VERDICTS, meanings, words


def test_words_are_told_apart_and_explained():
    for report, (column, verdicts) in VERDICTS.items():
        known = [verdict.word for verdict in verdicts]
        assert (column != "", len({*known})) == (True, len(known)), report
        assert [word for word, meaning in meanings(report) if meaning] == known
        assert [*words(report, "bad"), *words(report, ""), *words(report, "good")] != []


def test_a_report_without_verdicts_has_no_bad_words():
    assert words("blocked") == ()
    assert words("backlog") == ("full", "grows", "no consumer")

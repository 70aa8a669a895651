"""Text in a page is text."""

from pybrokerctl.reports.markup import escape


def test_markup_and_what_steers_are_escaped():
    assert escape("<b>\u202e&\x1b") == r"&lt;b&gt;\u202e&amp;\033"

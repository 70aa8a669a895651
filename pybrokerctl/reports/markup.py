"""Text in a page of HTML."""

import html

from pybrokerctl.render import cell


def escape(text: str) -> str:
    """Return a text that is nothing but text: no markup, and no character that turns, hides or breaks what follows."""
    return html.escape(cell.lines(text))

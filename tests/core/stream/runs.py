"""Runs for tests of streams."""

from pybroker.content_view import body_size
from pybroker.core.routing.publish import names_of
from pybroker.run import Run, RunAttributes
from tests.streams import content_frames, props

PERSISTENT = RunAttributes(persistent=True)


def content(body, headers=None):
    """Return a content as it came on channel 1."""
    return b"".join(content_frames(1, body, props(headers=headers) if headers else b"\x00\x00"))


def run_of(first_seq, contents, attributes=PERSISTENT):
    """Return a run of these contents."""
    octets = sum(map(len, contents))
    return Run(names_of("", "s"), attributes, first_seq, contents, octets, sum(map(body_size, contents)), -1, 0, 1)


def bodies_run(first_seq, *bodies):
    """Return a run whose messages have these bodies."""
    return run_of(first_seq, [content(body) for body in bodies])

"""The manual knows every option, URI parameter and error, has the code's defaults, and its examples run."""

import dataclasses
import re
from pathlib import Path

import pytest

from pybroker.client import Options, Tls, errors, uri
from tests.client.scripted import WAIT_S
from tests.client.test_examples import run

PAGE = (Path(__file__).parents[2] / "man/pybroker-client.7").read_text().replace(r"\-", "-")
OPTIONS = PAGE.partition('\n.SH "OPTIONS"\n')[2].partition("\n.SH ERRORS")[0]


def entry(name):
    """Return what is said of an option; in brackets behind it stands its name in a URI."""
    titles = {re.sub(r"\[.*?\]", "", part.partition("\n")[0]): part for part in OPTIONS.split("\n.TP\n")}
    (found,) = (part for title, part in titles.items() if re.search(rf"\b{name}\b", title))
    return found


def test_every_option_and_uri_parameter_is_explained():
    for field in (*dataclasses.fields(Options), *dataclasses.fields(Tls)):
        assert "Default: " in entry(field.name), field.name
    assert [name for name in (*uri._OPTIONS, *uri._TLS) if not re.search(rf"\b{name}\b", OPTIONS)] == []


@pytest.mark.parametrize("field", dataclasses.fields(Options), ids=lambda field: field.name)
def test_defaults_are_those_of_the_code(field):
    told = entry(field.name).partition("Default: ")[2]
    value = field.default
    if field.name.endswith("octets_max") and field.name != "frame_octets_max":
        assert f"{value >> 20} MiB" in told
    elif type(value) in (int, float, bool):
        assert re.search(rf"\b{value:g}\b" if type(value) is not bool else str(value), told)
    elif value and isinstance(value, str):
        assert value in told


def test_every_error_of_this_side_is_explained():
    names = {name for name in errors.__all__ if issubclass(getattr(errors, name), errors.ClientError)}
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", PAGE.partition("\n.SH ERRORS")[2])) == []


def test_the_examples_run(broker, channel):
    publish, consume, callbacks = re.findall(r"^\.nf\n(.*?)^\.fi", PAGE, re.MULTILINE | re.DOTALL)
    try:
        run(publish, broker)[0].result(WAIT_S)
        printed = []
        running, names = run(consume, broker, print=lambda body: (printed.append(body), names["connection"].close()))
        running.result(WAIT_S)
        assert printed == [b"two of them"]
        printed = []
        run(callbacks, broker, print=lambda *words: printed.append(words))[0].result(WAIT_S)
        assert ("nobody wants", b"an order") in printed
    finally:
        channel.queue_delete("orders")

"""Prometheus' text format, read back by Prometheus' own parser for Python."""

from hypothesis import given, strategies as st
from prometheus_client.parser import text_string_to_metric_families as parse

from pybroker.text import exposition


def test_a_series_has_help_type_and_samples():
    samples = [(exposition.labels(queue="a"), 1), (exposition.labels(queue="b"), None), ("", 0.5)]
    assert exposition.series("some", "gauge", "what\nit is", samples) == (
        '# HELP some what\\nit is\n# TYPE some gauge\nsome{queue="a"} 1\nsome 0.5\n'
    )


@given(st.dictionaries(st.sampled_from(("vhost", "queue", "type")), st.text()))
def test_any_name_is_read_back(labels):
    (family,) = parse(exposition.series("some", "gauge", "", [(exposition.labels(**labels), 1)]))
    assert family.samples[0].labels == labels


@given(st.one_of(st.integers(0, 2**63), st.floats(allow_nan=False)))
def test_any_number_is_read_back(number):
    (family,) = parse(exposition.series("some", "gauge", "", [("", number)]))
    assert family.samples[0].value == number


def test_bounds_read_as_rabbitmqs_do():
    assert [exposition.bound(n) for n in (100, 100_000, 1_000_000, 50_000_000)] == [
        "100.0",
        "100000.0",
        "1e+06",
        "5e+07",
    ]

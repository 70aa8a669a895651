"""The families of metrics: each name once, and only names that Prometheus takes."""

import re
from collections import Counter

from pybroker.core.stats.metrics import CONNECTION, NODE, QUEUE
from pybroker.http.metrics.families import FAMILIES, METRICS, NODE_FAMILIES, TOTALS
from tests.sources import ROOT

SERIES = {one.name: one for family in FAMILIES.values() for one in family.series}


def test_names_are_prometheus_names():
    names = [*SERIES, *(one.name for family in (*NODE_FAMILIES.values(), TOTALS) for one in family)]
    assert not [name for name in names if not re.fullmatch(r"(rabbitmq|pybroker)(_[a-z0-9]+)+", name)]


def test_one_name_means_one_figure():
    meanings = Counter(
        (one.name, family.noun, one.metric.name) for family in FAMILIES.values() for one in dict.fromkeys(family.series)
    )
    names = Counter(name for name, _, _ in meanings)
    assert not [name for name, count in names.items() if count > 1]


def test_each_metric_of_an_object_has_a_series():
    for noun, metrics in METRICS.items():
        told = {one.metric.name for family in FAMILIES.values() if family.noun == noun for one in family.series}
        assert told == set(metrics)


def test_totals_are_metrics_of_the_node():
    assert {one.total for one in SERIES.values() if one.total} <= set(NODE)


def test_counters_end_in_total_and_times_are_in_seconds():
    assert not [one.name for one in SERIES.values() if (one.metric.type == "counter") != one.name.endswith("_total")]
    assert (SERIES["pybroker_queue_head_age_seconds"].metric, SERIES["pybroker_queue_head_age_seconds"].divisor) == (
        QUEUE["head_age_ms"],
        1_000,
    )
    assert SERIES["pybroker_queue_head_age_seconds"].help.startswith("age of the next message in seconds; ")
    assert SERIES["pybroker_queue_head_age_seconds"].told(81_100) == 81.1
    assert not [one.name for one in SERIES.values() if "milliseconds" in one.help]
    blocked = SERIES["pybroker_connection_blocked_seconds_total"]
    assert (blocked.metric, blocked.divisor) == (CONNECTION["blocked_time"], 1_000)


def test_the_manual_names_each_family():
    page = (ROOT / "man/pybroker-web.8").read_text()
    assert not [name for name in (*NODE_FAMILIES, *FAMILIES) if name not in page]

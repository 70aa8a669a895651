"""Figures as people read them."""

import pytest

from pybroker.spark.pipeline import people


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.44, "0.4 s"), (-1, "0.0 s"), (59, "59 s"), (456, "7 min 36 s"), (7_500, "2 h 5 min"), (86_400, "1 d")],
)
def test_lasting(seconds, text):
    assert people.lasting(seconds) == text


def test_sizes_and_numbers():
    assert [people.size(octets) for octets in (1, 512, 3_300, 100_000_000, 1 << 40)] == [
        "1 octet",
        "512 octets",
        "3.2 KiB",
        "95.4 MiB",
        "1,024.0 GiB",
    ]
    assert (people.counted(1, "sample"), people.counted(2_000, "queue")) == ("1 sample", "2,000 queues")


def test_a_time_has_its_bounds():
    assert people.about((456.0, 410.0, 510.0)) == "7 min 36 s (6 min 50 s to 8 min 30 s)"
    assert people.about((456.0, 410.0, None)) == "7 min 36 s (6 min 50 s at the soonest)"
    assert people.about((456.0, 456.0, 456.2)) == "7 min 36 s"

"""Figures as people read them."""

from pybroker.spark.pipeline.jobs import people


def test_sizes():
    assert [people.size(octets) for octets in (1, 512, 3_300, 100_000_000, 1 << 40)] == [
        "1 octet",
        "512 octets",
        "3.2 KiB",
        "95.4 MiB",
        "1,024.0 GiB",
    ]


def test_a_time_has_its_bounds():
    assert people.about((456.0, 410.0, 510.0)) == "7 min 36 s (6 min 50 s to 8 min 30 s)"
    assert people.about((456.0, 410.0, None)) == "7 min 36 s (6 min 50 s at the soonest)"
    assert people.about((456.0, 456.0, 456.2)) == "7 min 36 s"

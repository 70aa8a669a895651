import pytest

from pybroker import humanize


def test_a_size_is_in_mb_as_commands_read_them():
    assert ["432.3 MB", "0.0 MB", "2,147.5 MB"] == [
        humanize.size(432_327_885),
        humanize.size(0),
        humanize.size(1 << 31),
    ]


def test_a_time_is_in_utc_as_far_as_the_calendar_goes():
    assert humanize.utc(1_500) == "1970-01-01T00:00:01.500+00:00"
    assert humanize.utc(253_402_300_800_000) == "253402300800000"


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (-5, "0.0 s"),
        (0, "0.0 s"),
        (400, "0.4 s"),
        (9_940, "9.9 s"),
        (10_000, "10 s"),
        (59_999, "59 s"),
        (60_000, "1 min"),
        (192_000, "3 min 12 s"),
        (7_500_000, "2 h 5 min"),
        (86_400_000, "1 d"),
        (273_700_000, "3 d 4 h"),
    ],
)
def test_a_time_has_two_units_at_most(ms, text):
    assert text == humanize.lasting(ms)


def test_things_are_counted():
    assert ["0 queues", "1 queue", "2,000 queues"] == [humanize.counted(number, "queue") for number in (0, 1, 2_000)]
    assert 1.234 == humanize.seconds(1_234)

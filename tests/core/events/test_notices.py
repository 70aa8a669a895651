from pybroker.core.events.notices import Notices


def test_notices_are_kept_once_and_not_without_end():
    notices = Notices()
    for _ in range(2):
        for number in range(100):
            notices.add(f"fault {number}")
    assert [f"fault {number}" for number in range(100)] == notices
    notices.add("fault 100")
    notices.add("fault 101")
    assert ["fault 99", "and 2 more; see the log"] == notices[99:]
    notices.withdraw("fault 0")
    notices.withdraw("fault 0")
    notices.add("fault 102")
    assert ["fault 99", "and 3 more; see the log"] == notices[98:]

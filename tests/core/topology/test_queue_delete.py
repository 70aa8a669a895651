"""Checks before a queue is deleted, and purging."""

import pytest

from pybroker.core.auth.users import User
from pybroker.core.events.cause import BROKER
from pybroker.core.topology.queue_delete import check_queue_delete, purge_queue
from pybroker.core.topology.removal import Removal, StillLeavingError
from tests.topology import new_vhost, queue, refused, session


def check(vhost, name="q", user=None, owner=None, **conditions):
    return check_queue_delete(vhost, user, owner, name, **{"if_empty": False, "if_unused": False, **conditions})


def test_the_queue_is_found_by_its_name_without_line_ends():
    vhost = new_vhost()
    q = queue(vhost, "q")
    assert check(vhost, "q\r\n") is q
    assert check(vhost, "none") is None
    assert check(vhost, if_empty=True, if_unused=True) is q


def test_one_that_is_being_removed_is_waited_for():
    vhost = new_vhost()
    vhost.leaving["queue", "q"] = Removal(BROKER)
    with pytest.raises(StillLeavingError):
        check(vhost)


def test_users_need_permission():
    vhost, stranger = new_vhost(), User("u")
    queue(vhost, "q")
    assert refused(check, vhost, user=stranger) == (
        403,
        "configure access to queue 'q' in vhost '/' refused for user 'u'",
    )
    expected = (403, "read access to queue 'q' in vhost '/' refused for user 'u'")
    assert refused(purge_queue, vhost, stranger, None, "q", BROKER) == expected


def test_an_exclusive_queue_is_its_owners_and_the_operators():
    vhost, owner = new_vhost(), session()
    guest = vhost.broker.users.get("guest")
    q = queue(vhost, "q", durable=False, owner=owner)
    assert refused(check, vhost, user=guest)[0] == 405
    assert refused(purge_queue, vhost, guest, None, "q", BROKER)[0] == 405
    assert check(vhost, user=guest, owner=owner) is q
    assert check(vhost) is q
    assert purge_queue(vhost, guest, owner, "q", BROKER) == 0
    assert purge_queue(vhost, None, None, "q", BROKER) == 0


def test_a_queue_to_purge_must_be_there():
    assert refused(purge_queue, new_vhost(), None, None, "q", BROKER) == (404, "no queue 'q' in vhost '/'")

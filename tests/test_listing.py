import weakref

from pybroker.listing import as_they_were


def test_what_is_deleted_during_a_listing_is_not_kept_by_it():
    class Thing:
        pass

    there = {number: Thing() for number in range(3)}
    known = [weakref.ref(thing) for thing in there.values()]
    listing = as_they_were(there.values())
    assert next(listing) is known[0]()
    there.clear()
    assert [False, True, True] == [ref() is not None for ref in known]
    assert next(listing) is known[1]()
    assert [False, False, True] == [ref() is not None for ref in known]
    assert 1 == len(list(listing))

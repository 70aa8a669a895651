"""The order of documents, and indexes, of which those of long lists are kept."""

import gzip
import json

import pytest
from pamqp.commands import Queue
from werkzeug.datastructures import MultiDict

from pybroker.http import lists, order
from pybroker.http.order import Order, arranged, order_of


def test_values_of_all_kinds_have_an_order():
    values = [{}, [], "", True, None, 1.5, 0, ["a", 1], {"a": 1}]
    documents = [{"name": "", "v": value} for value in values]
    found = arranged(documents, Order(("v",)))
    assert [each["v"] for each in found] == [0, 1.5, None, True, {}, {"a": 1}, [], ["a", 1], ""]


def test_equal_ones_stay_as_they_come_also_in_reverse():
    documents = [{"a": n % 2, "n": n} for n in range(4)]
    assert [each["n"] for each in arranged(documents, Order(("a",)))] == [0, 2, 1, 3]
    assert [each["n"] for each in arranged(documents, Order(("a",), is_reversed=True))] == [1, 3, 0, 2]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, Order(("vhost", "name"))),
        ({"sort": "a.b", "sort_reverse": "true"}, Order(("a.b",), is_reversed=True)),
        ({"sort": ""}, Order(())),
    ],
)
def test_what_a_request_asks_for(query, expected):
    assert order_of(MultiDict(query), ("vhost", "name")) == expected


@pytest.fixture
def long_lists(monkeypatch):
    """Make four objects a long list, and three a part of it."""
    monkeypatch.setattr(order, "LONG", 3)
    monkeypatch.setattr(lists, "LONG", 3)
    monkeypatch.setattr(lists, "PART", 3)


@pytest.fixture
def queues(peer, long_lists):
    for name in ("a", "b", "c", "d", "e"):
        peer.declare(name)


def names(found):
    return [each["name"] for each in (found["items"] if isinstance(found, dict) else found)]


def page(api, number=1, sort="name", **more):
    return api.get(f"/api/queues?page={number}&page_size=2&sort={sort}", **more)


def test_who_turns_pages_sees_one_order(api, queues, peer, world, node):
    assert names(page(api)) == ["a", "b"]
    node.asked.clear()
    peer.declare("aa")
    found = page(api, 2)
    assert (names(found), found["total_count"]) == (["c", "d"], 5)
    assert node.asked.count("object_rows") == 2  # the virtual hosts, the page
    world.advance(order.KEPT_MS)
    assert names(page(api)) == ["a", "aa"]


def test_what_is_shown_is_no_older_than_the_request(api, queues, peer):
    page(api)
    peer.publish("", "b", b"x")
    peer.call(Queue.Delete(queue="a"))
    found = page(api)
    assert (names(found), found["item_count"], found["filtered_count"]) == (["b"], 1, 5)
    assert found["items"][0]["messages"] == 1


def test_the_age_is_told(api, queues, world):
    ages = []
    for _ in range(2):
        ages.append(api.request("GET", "/api/queues?page=1&page_size=2").headers["Age"])
        world.advance(2_500)
    assert ages == ["0", "2"]


def test_a_change_is_seen_at_once(api, queues):
    assert names(page(api)) == ["a", "b"]
    assert api.send("DELETE", "/api/queues/%2F/a")[0] == 204
    assert names(page(api)) == ["b", "c"]


def test_short_lists_are_read_each_time(api, queues, peer):
    for name in ("d", "e"):
        peer.call(Queue.Delete(queue=name))
    page(api)
    peer.declare("0")
    assert names(page(api)) == ["0", "a"]


def test_users_see_their_virtual_hosts_only(api, queues, world):
    world.broker.add_vhost("other")
    users = world.broker.users
    users.add("ann", "ann", ("management",))
    users.set_permissions("ann", "other", ".*", ".*", ".*")
    assert page(api)["total_count"] == 5
    assert page(api, user="ann")["total_count"] == 0
    users.set_permissions("ann", "/", ".*", ".*", ".*")
    assert page(api, user="ann")["total_count"] == 5
    users.clear_permissions("ann", "/")
    assert page(api, user="ann")["total_count"] == 0


def test_no_more_are_kept_than_there_is_room_for(api, queues, monkeypatch, peer):
    monkeypatch.setattr(order, "KEYS_MAX", 5)
    page(api)
    page(api, sort="messages")
    peer.declare("0")
    assert names(page(api)) == ["0", "a"]


def test_an_order_by_rates(api, queues, peer, world):
    sort = "message_stats.publish_details.rate&sort_reverse=true"
    page(api, sort=sort)
    for _ in range(3):
        peer.publish("", "d", b"x")
    peer.publish("", "c", b"x")
    world.advance(order.KEPT_MS)
    assert names(page(api, sort=sort)) == ["d", "c"]
    sort = "messages_details.rate&sort_reverse=true"
    page(api, sort=sort)
    peer.publish("", "e", b"x")
    world.advance(order.KEPT_MS)
    assert names(page(api, sort=sort))[0] == "e"


@pytest.mark.parametrize(("accepted", "decoded"), [("", bytes), ("gzip", gzip.decompress)])
def test_a_long_list_is_sent_as_it_is_read(api, queues, accepted, decoded):
    response = api.request("GET", "/api/queues?sort_reverse=true", headers={"Accept-Encoding": accepted})
    assert (response.is_streamed, response.content_encoding or "") == (True, accepted)
    assert names(json.loads(decoded(response.get_data()))) == ["e", "d", "c", "b", "a"]


def test_a_long_list_without_an_object_left(api, queues, peer):
    page(api, sort="")
    for name in "abcde":
        peer.call(Queue.Delete(queue=name))
    assert api.get("/api/queues?sort=") == []


def test_columns_of_a_long_list(api, queues, peer):
    peer.publish("", "b", b"x")
    found = api.get("/api/queues?columns=name,messages,message_stats.publish")
    assert found[:2] == [{"messages": 0, "name": "a"}, {"message_stats": {"publish": 1}, "messages": 1, "name": "b"}]


def test_a_node_that_goes_away_amid_a_list_ends_the_connection(api, queues, node):
    response = api.request("GET", "/api/queues")
    node.refuse("it stops")
    with pytest.raises(ConnectionAbortedError, match="it stops"):
        response.get_data()

"""Paths as they are sent."""

import re

import pytest
from werkzeug.exceptions import HTTPException
from werkzeug.routing import RequestRedirect

from pybroker.http.errors import HttpError
from pybroker.http.route import Route, route_map
from pybroker.http.routes import ROUTES
from tests.sources import ROOT

TAGS = {"none": "no login"}

MAP = route_map([Route("GET", "/a/<vhost>/<name>", "none", print), Route("GET", "/a/<vhost>/fixed", "none", repr)])


def matched(path):
    return MAP.bind("localhost").match(path, "GET")


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/a/%2F/b", {"vhost": "/", "name": "b"}),
        ("/a/%2f/b/", {"vhost": "/", "name": "b"}),
        ("/a/a%2Fb%25/%20%C3%A4%0A", {"vhost": "a/b%", "name": " ä\n"}),
        ("/a/+/%zz", {"vhost": "+", "name": "%zz"}),
    ],
)
def test_parts_may_hold_any_character(path, names):
    assert matched(path)[1] == names


def test_a_fixed_part_goes_first():
    assert matched("/a/b/fixed")[0].answer is repr


@pytest.mark.parametrize("path", ["/a//b", "/a/b"])
def test_nothing_else_matches(path):
    with pytest.raises(HTTPException) as caught:
        matched(path)
    assert not isinstance(caught.value, RequestRedirect)
    assert caught.value.code == 404


def test_no_name_is_other_than_utf_8():
    with pytest.raises(HttpError) as caught:
        matched("/a/%ff/b")
    assert caught.value.status == 404


def test_each_route_is_there_once():
    places = [(route.method, route.path) for route in ROUTES]
    assert len(set(places)) == len(places)


def test_the_man_page_has_each_route_with_its_tag():
    page = (ROOT / "man/pybroker-http.7").read_text().replace(r"\-", "-")
    told = re.findall(r'^\.BR "([A-Z]+) (/\S+)" " \(([a-z ]+)\)"$', page, re.MULTILINE)
    here = [
        (route.method, re.sub("<([a-z]+)>", lambda word: word[1].upper(), route.path), TAGS.get(route.tag, route.tag))
        for route in ROUTES
    ]
    assert told == here

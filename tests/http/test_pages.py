"""Files of the web interface."""

import pytest

from pybroker.http import pages
from pybroker.http.route import NO_LOGIN

FILES = sorted(path.relative_to(pages.FOLDER).as_posix() for path in pages.FOLDER.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", FILES)
def test_each_file_is_served_to_everybody(api, name):
    response = api.request("GET", f"/{name}", user=None)
    assert (response.status_code, response.data) == (200, (pages.FOLDER / name).read_bytes())
    assert response.headers["Cache-Control"] == "no-cache"
    again = api.request("GET", f"/{name}", user=None, headers={"If-None-Match": response.headers["ETag"]})
    assert again.status_code == 304


def test_the_folder_has_the_index(api):
    assert api.request("GET", "/", user=None).data == (pages.FOLDER / "index.html").read_bytes()


def test_nothing_else_of_the_disk_is_served(api):
    for path in ("/../pages.py", "/%2e%2e/pages.py", "/..%2Fpages.py", "//etc/passwd"):
        assert api.request("GET", path, user=None).status_code == 404


def test_pages_need_no_login():
    assert {route.tag for route in pages.ROUTES} == {NO_LOGIN}

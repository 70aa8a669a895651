"""Errors in RabbitMQ's words."""

import pytest

from pybroker.control import spec
from pybroker.http import errors
from pybroker.http.node import Refused


@pytest.mark.parametrize(
    ("code", "facts", "status", "error", "reason"),
    [
        (spec.EX_NOPERM, {}, 401, "not_authorised", "text"),
        (spec.EX_DATAERR, {"missing": "vhost"}, 404, "Object Not Found", "Not Found"),
        (spec.EX_TEMPFAIL, {}, 503, "service_unavailable", "text"),
        (spec.EX_UNAVAILABLE, {"app": "starting"}, 503, "service_unavailable", "text"),
        (spec.EX_USAGE, {}, 400, "bad_request", "text"),
        (spec.EX_SOFTWARE, {}, 500, "internal_error", "the node failed at this request; its log says how"),
    ],
)
def test_refusals_of_the_node_have_their_status(code, facts, status, error, reason):
    found = errors.from_refusal(Refused("text", code, facts))
    assert (found.status, found.document) == (status, {"error": error, "reason": reason})


def test_codes_are_those_of_commands():
    assert (errors.LOGIN_ENDED, errors._TRY_AGAIN, errors._NO_PERMISSION) == (
        spec.EX_LOGIN,
        spec.EX_TEMPFAIL,
        spec.EX_NOPERM,
    )


def test_browsers_ask_for_a_password_where_they_may():
    assert errors.login_failed(asks=True).headers == {"WWW-Authenticate": 'Basic realm="RabbitMQ Management"'}
    assert errors.login_failed(asks=False).headers == {}

"""Policies, parameters, and limits of virtual hosts."""

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pybroker.control.access import MANAGEMENT, POLICYMAKER
from pybroker.http import lists
from pybroker.http.errors import not_found
from pybroker.http.route import Route
from pybroker.http.shapes import GLOBAL_PARAMETER, LIMIT, OPERATOR_POLICY, PARAMETER, POLICY

if TYPE_CHECKING:
    from pybroker.http.call import Call
    from pybroker.http.lists import Document
    from pybroker.http.shapes import Shape

PARAMETER_SORT: Final = ("vhost", "component", "name")


def _policies(shape: "Shape", call: "Call", vhost: str | None = None) -> Any:
    return lists.answer(call, shape.documents(call, vhost))


def _policy(shape: "Shape", call: "Call", vhost: str, name: str) -> "Document":
    for each in shape.documents(call, vhost):
        if each["name"] == name:
            return each
    raise not_found()


def _parameters(call: "Call", component: str | None = None, vhost: str | None = None) -> Any:
    found = PARAMETER.documents(call, vhost)
    if component is not None:
        found = (each for each in found if each["component"] == component)
    return lists.answer(call, found, PARAMETER_SORT)


def _parameter(call: "Call", component: str, vhost: str, name: str) -> "Document":
    for each in PARAMETER.documents(call, vhost):
        if (each["component"], each["name"]) == (component, name):
            return each
    raise not_found()


def _global_parameters(call: "Call") -> Any:
    return lists.answer(call, GLOBAL_PARAMETER.documents(call), ("name",))


def _global_parameter(call: "Call", name: str) -> "Document":
    for each in GLOBAL_PARAMETER.documents(call):
        if each["name"] == name:
            return each
    raise not_found()


def _limits(call: "Call", vhost: str | None = None) -> Any:
    return lists.answer(call, LIMIT.documents(call, vhost), ("vhost",))


ROUTES: Final = (
    Route("GET", "/api/policies", MANAGEMENT, partial(_policies, POLICY)),
    Route("GET", "/api/policies/<vhost>", MANAGEMENT, partial(_policies, POLICY)),
    Route("GET", "/api/policies/<vhost>/<name>", MANAGEMENT, partial(_policy, POLICY)),
    Route("GET", "/api/operator-policies", MANAGEMENT, partial(_policies, OPERATOR_POLICY)),
    Route("GET", "/api/operator-policies/<vhost>", MANAGEMENT, partial(_policies, OPERATOR_POLICY)),
    Route("GET", "/api/operator-policies/<vhost>/<name>", MANAGEMENT, partial(_policy, OPERATOR_POLICY)),
    Route("GET", "/api/parameters", POLICYMAKER, _parameters),
    Route("GET", "/api/parameters/<component>", POLICYMAKER, _parameters),
    Route("GET", "/api/parameters/<component>/<vhost>", POLICYMAKER, _parameters),
    Route("GET", "/api/parameters/<component>/<vhost>/<name>", POLICYMAKER, _parameter),
    Route("GET", "/api/global-parameters", POLICYMAKER, _global_parameters),
    Route("GET", "/api/global-parameters/<name>", POLICYMAKER, _global_parameter),
    Route("GET", "/api/vhost-limits", MANAGEMENT, _limits),
    Route("GET", "/api/vhost-limits/<vhost>", MANAGEMENT, _limits),
)

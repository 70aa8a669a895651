"""Policies, parameters, and limits of virtual hosts."""

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pybroker.control.access import ADMINISTRATOR, MANAGEMENT, POLICYMAKER
from pybroker.http import fields, lists
from pybroker.http.errors import bad_request, not_found
from pybroker.http.node import Refused
from pybroker.http.route import DONE, Reply, Route
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


def _set_policy(shape: "Shape", call: "Call", vhost: str, name: str) -> Reply:
    given = call.fields()
    pattern, definition = fields.required(given, "pattern", "definition")
    what = {
        "pattern": _pattern(pattern),
        "definition": fields.as_json(definition),
        "priority": _priority(given.get("priority", 0)),
        "apply_to": fields.text(given.get("apply-to", "all"), "apply-to"),
    }
    is_there = any(each["name"] == name for each in _known(call, shape, vhost))
    call.change(f"set_{shape.kind}", name=name, vhost=vhost, **what)
    return DONE if is_there else Reply(201)


def _pattern(value: Any) -> str:
    if not isinstance(value, str):
        raise bad_request(f"Validation failed\n\npattern should be a binary but was {_shown(value)}\n")
    return value


def _priority(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise bad_request(f"Validation failed\n\npriority should be a number, actually was {_shown(value)}\n")
    return value


def _shown(value: Any) -> str:
    """Return a value as Erlang writes it."""
    return f'<<"{value}">>' if isinstance(value, str) else fields.as_json(value)


def _known(call: "Call", shape: "Shape", vhost: str | None = None) -> "list[Document]":
    """Return what there is; nothing in a virtual host that is not there."""
    try:
        return list(shape.documents(call, vhost))
    except Refused as refused:
        if refused.facts.get("missing") == "vhost":
            return []
        raise


def _clear_policy(shape: "Shape", call: "Call", vhost: str, name: str) -> Reply:
    call.ask(f"clear_{shape.kind}", name=name, vhost=vhost)
    return DONE


def _set_parameter(call: "Call", component: str, vhost: str, name: str) -> Reply:
    (value,) = fields.required(call.fields(), "value")
    key = (component, name)
    is_there = any((each["component"], each["name"]) == key for each in _known(call, PARAMETER, vhost))
    call.change("set_parameter", component_name=component, name=name, value=fields.as_json(value), vhost=vhost)
    return DONE if is_there else Reply(201)


def _clear_parameter(call: "Call", component: str, vhost: str, name: str) -> Reply:
    call.ask("clear_parameter", component_name=component, name=name, vhost=vhost)
    return DONE


def _set_global_parameter(call: "Call", name: str) -> Reply:
    (value,) = fields.required(call.fields(), "value")
    is_there = any(each["name"] == name for each in GLOBAL_PARAMETER.documents(call))
    call.ask("set_global_parameter", name=name, value=fields.as_json(value))
    return DONE if is_there else Reply(201)


def _clear_global_parameter(call: "Call", name: str) -> Reply:
    call.ask("clear_global_parameter", name=name)
    return DONE


ROUTES: Final = (
    Route("GET", "/api/policies", MANAGEMENT, partial(_policies, POLICY)),
    Route("GET", "/api/policies/<vhost>", MANAGEMENT, partial(_policies, POLICY)),
    Route("GET", "/api/policies/<vhost>/<name>", MANAGEMENT, partial(_policy, POLICY)),
    Route("PUT", "/api/policies/<vhost>/<name>", POLICYMAKER, partial(_set_policy, POLICY)),
    Route("DELETE", "/api/policies/<vhost>/<name>", POLICYMAKER, partial(_clear_policy, POLICY)),
    Route("GET", "/api/operator-policies", MANAGEMENT, partial(_policies, OPERATOR_POLICY)),
    Route("GET", "/api/operator-policies/<vhost>", MANAGEMENT, partial(_policies, OPERATOR_POLICY)),
    Route("GET", "/api/operator-policies/<vhost>/<name>", MANAGEMENT, partial(_policy, OPERATOR_POLICY)),
    Route("PUT", "/api/operator-policies/<vhost>/<name>", ADMINISTRATOR, partial(_set_policy, OPERATOR_POLICY)),
    Route("DELETE", "/api/operator-policies/<vhost>/<name>", ADMINISTRATOR, partial(_clear_policy, OPERATOR_POLICY)),
    Route("GET", "/api/parameters", POLICYMAKER, _parameters),
    Route("GET", "/api/parameters/<component>", POLICYMAKER, _parameters),
    Route("GET", "/api/parameters/<component>/<vhost>", POLICYMAKER, _parameters),
    Route("GET", "/api/parameters/<component>/<vhost>/<name>", POLICYMAKER, _parameter),
    Route("PUT", "/api/parameters/<component>/<vhost>/<name>", POLICYMAKER, _set_parameter),
    Route("DELETE", "/api/parameters/<component>/<vhost>/<name>", POLICYMAKER, _clear_parameter),
    Route("GET", "/api/global-parameters", POLICYMAKER, _global_parameters),
    Route("GET", "/api/global-parameters/<name>", POLICYMAKER, _global_parameter),
    Route("PUT", "/api/global-parameters/<name>", POLICYMAKER, _set_global_parameter),
    Route("DELETE", "/api/global-parameters/<name>", POLICYMAKER, _clear_global_parameter),
    Route("GET", "/api/vhost-limits", MANAGEMENT, _limits),
    Route("GET", "/api/vhost-limits/<vhost>", MANAGEMENT, _limits),
)

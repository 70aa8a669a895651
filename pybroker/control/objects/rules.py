"""Policies, parameters, and limits of virtual hosts."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.control.access import POLICYMAKER
from pybroker.control.arguments.policies import COLUMNS
from pybroker.control.objects.kind import Kind, View, readers

if TYPE_CHECKING:
    from pybroker.core.policy.policy import Policy

VHOST_LIMITS: Final = "vhost-limits"
POLICIES_OF: Final = ("policy", "operator_policy")


class _Parameter(NamedTuple):
    """A runtime parameter."""

    vhost: str
    component: str
    name: str
    value: Any


def _policies(component: str, view: View) -> "Iterator[Policy]":
    for vhost in view.vhosts:
        yield from list(view.broker.policies.of(vhost.name, component))


def _parameters(view: View) -> Iterator[_Parameter]:
    for vhost in view.vhosts:
        for component, name, value in list(view.broker.parameters.listed(vhost.name)):
            if component not in POLICIES_OF:
                yield _Parameter(vhost.name, component, name, value)


def _limits(view: View) -> Iterator[_Parameter]:
    for vhost in view.vhosts:
        value = view.broker.parameters.of(vhost.name, VHOST_LIMITS).get("limits")
        if value is not None:
            yield _Parameter(vhost.name, VHOST_LIMITS, "limits", value)


_POLICY: Final = readers(COLUMNS, definition=lambda p: p.definition)
_PARAMETER: Final = {name: partial(lambda name, row: getattr(row, name), name) for name in _Parameter._fields}

POLICIES: Final = Kind(partial(_policies, "policy"), _POLICY)
OPERATOR_POLICIES: Final = Kind(partial(_policies, "operator_policy"), _POLICY)
PARAMETERS: Final = Kind(_parameters, _PARAMETER, access=POLICYMAKER)
LIMITS: Final = Kind(_limits, _PARAMETER)
GLOBAL_PARAMETERS: Final = Kind(
    lambda view: list(view.broker.parameters.globals.items()),
    {"name": lambda row: row[0], "value": lambda row: row[1]},
    access=POLICYMAKER,
)

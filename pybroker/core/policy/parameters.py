"""Parameters that are set while the node runs: of a virtual host (runtime parameters) or of the whole node (global).

Owns the values, plain JSON by component and name, and keeps each as a row of the definitions. A component registers how
its values are checked and what a change does; policies are such a component, and so are the limits of virtual hosts.
"""

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.core.events import admin as admin_events
from pybroker.core.events.cause import BROKER, Cause
from pybroker.core.events.observers import Observers

if TYPE_CHECKING:
    from pybroker.store.definitions.definitions import Definitions

GLOBAL: Final = "global_parameter"
RUNTIME: Final = "parameter"


class ValidationError(ValueError):
    """A value that is refused, with RabbitMQ's text."""

    def __init__(self, *reasons: str) -> None:
        self.text = "\n".join(["Validation failed\n", *reasons]).rstrip("\n")
        super().__init__(self.text)


class Component(NamedTuple):
    """Callbacks for the values of one component: `check` raises ValidationError, `changed` applies a value.

    Both get the virtual host's name, the parameter's, and the value; `changed` gets None for one that was cleared, and
    the cause.
    """

    check: Callable[[str, str, Any], None]
    changed: Callable[[str, str, Any, Cause], None]


class Parameters:
    """Runtime parameters by (virtual host, component) and name, global ones by name. Callers have looked up the vhost.

    `global_observers` are called with name and value (None: cleared) of each global parameter that is set or cleared,
    `observers` with each change as an event.
    """

    __slots__ = ("_definitions", "_values", "components", "global_observers", "globals", "observers")

    def __init__(self, definitions: "Definitions") -> None:
        self._definitions = definitions
        self._values: dict[tuple[str, str], dict[str, Any]] = {}
        self.components: dict[str, Component] = {}
        self.globals: dict[str, Any] = {}
        self.global_observers: list[Callable[[str, Any], None]] = []
        self.observers = Observers()

    def register(self, name: str, component: Component) -> None:
        """Know a component from now on."""
        self.components[name] = component

    @staticmethod
    def decode(text: str) -> Any:
        """Return the JSON value that a text is. Raises ValueError with a sentence."""
        try:
            value = json.loads(text, parse_constant=_refuse)
            # Half of a surrogate pair is no character: nobody could be shown it, nor could it be kept.
            json.dumps(value, ensure_ascii=False).encode()
        except RecursionError:
            reason = "nested too deep"
        except UnicodeEncodeError:
            reason = "a character that there is not"
        except ValueError as error:
            reason = str(error)
        else:
            return value
        raise ValueError(f'JSON decoding error. Reason: {reason}; JSON looks like {{"name": 1, "other": "text"}}')

    # -- of a virtual host --------------------------------------------------------------------------------------------

    def of(self, vhost_name: str, component: str) -> dict[str, Any]:
        """Return a component's values in a virtual host by name; only to be read."""
        return self._values.get((vhost_name, component), {})

    def listed(self, vhost_name: str) -> Iterator[tuple[str, str, Any]]:
        """Yield component, name and value of everything that is set in a virtual host."""
        for (vhost, component), values in self._values.items():
            if vhost == vhost_name:
                for name, value in values.items():
                    yield component, name, value

    def set(self, vhost_name: str, component: str, name: str, value: Any, cause: Cause = BROKER) -> int:
        """Set a parameter, keep and apply it; return the commit position to wait for.

        If it was so already, that may not be on disk yet. Raises ValidationError.
        """
        known = self._known(component)
        known.check(vhost_name, name, value)
        values = self._values.setdefault((vhost_name, component), {})
        if name in values and _same(values[name], value):
            return self._definitions.commit_position
        values[name] = value
        commit_position = self._definitions.put(RUNTIME, (vhost_name, component, name), {"value": value})
        admin_events.parameter_set(self.observers.notify, vhost_name, component, name, value, cause)
        known.changed(vhost_name, name, value, cause)
        return commit_position

    def clear(self, vhost_name: str, component: str, name: str, cause: Cause = BROKER) -> int | None:
        """Forget a parameter; return the commit position to wait for, None: it is not set."""
        values = self._values.get((vhost_name, component), {})
        if name not in values:
            return None
        del values[name]
        commit_position = self._definitions.remove(RUNTIME, (vhost_name, component, name))
        admin_events.parameter_cleared(self.observers.notify, vhost_name, component, name, cause)
        if component in self.components:
            self.components[component].changed(vhost_name, name, None, cause)
        return commit_position

    def store(self, vhost_name: str, component: str, name: str, value: Any, cause: Cause = BROKER) -> int:
        """Keep a parameter of a component that nobody knows here, a plugin's of another broker: it does nothing.

        Return the commit position to wait for.
        """
        self._values.setdefault((vhost_name, component), {})[name] = value
        commit_position = self._definitions.put(RUNTIME, (vhost_name, component, name), {"value": value})
        admin_events.parameter_set(self.observers.notify, vhost_name, component, name, value, cause)
        return commit_position

    def load(self, vhost_name: str, component: str, name: str, value: Any) -> None:
        """Take a parameter that the definitions have already, also one that does nothing. Raises ValidationError."""
        known = self.components.get(component)
        if known is not None:
            known.check(vhost_name, name, value)
        self._values.setdefault((vhost_name, component), {})[name] = value
        if known is not None:
            known.changed(vhost_name, name, value, BROKER)

    def forget_vhost(self, vhost_name: str, cause: Cause) -> Iterator[None]:
        """Forget all that was set of a deleted virtual host, step by step; nothing is left there to apply that to."""
        for vhost, component in [key for key in self._values if key[0] == vhost_name]:
            for name in list(self._values[vhost, component]):
                self.clear(vhost, component, name, cause)
                yield
            del self._values[vhost, component]

    def _known(self, component: str) -> Component:
        known = self.components.get(component)
        if known is None:
            raise ValidationError(f"component {component} not found")
        return known

    # -- of the node --------------------------------------------------------------------------------------------------

    def set_global(self, name: str, value: Any, cause: Cause = BROKER) -> int:
        """Set a global parameter, keep and apply it; return the commit position to wait for.

        Its value is nobody's to refuse, as in RabbitMQ.
        """
        self.globals[name] = value
        commit_position = self._definitions.put(GLOBAL, (name,), {"value": value})
        admin_events.global_parameter(self.observers.notify, "parameter.set", name, cause, value=value)
        self._global_changed(name, value)
        return commit_position

    def load_global(self, name: str, value: Any, *, applies: bool) -> None:
        """Have a global parameter that the definitions have already."""
        self.globals[name] = value
        if applies:
            self._global_changed(name, value)

    def clear_global(self, name: str, cause: Cause = BROKER) -> int | None:
        """Forget a global parameter; return the commit position to wait for, None: it is not set."""
        if name not in self.globals:
            return None
        del self.globals[name]
        commit_position = self._definitions.remove(GLOBAL, (name,))
        admin_events.global_parameter(self.observers.notify, "parameter.cleared", name, cause)
        self._global_changed(name, None)
        return commit_position

    def _global_changed(self, name: str, value: Any) -> None:
        for observer in self.global_observers:
            observer(name, value)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def _same(one: Any, other: Any) -> bool:
    """Tell whether two JSON values are the same: 1 is not true, nor 1.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)

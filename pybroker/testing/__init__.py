"""A broker for the tests of applications: a pytest plugin, a context manager, and a command for other languages.

    with pybroker.testing.Broker() as broker:
        connect(broker.uri)

A test under pytest asks for the fixture `pybroker` instead: a virtual host of its own on a broker that all tests of
the run share (pybroker-testing(7)). The broker is the real daemon in a process of its own. Between it and its clients
stands a supervisor, another small process, with the proxy through which connections are cut and delayed; it ends the
daemon and removes the data when this process is gone, however that ended.

Nothing of the broker is loaded into the process of the tests, and nothing at all before it is used.
"""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pybroker.testing.broker import Broker
    from pybroker.testing.faults import Fault
    from pybroker.testing.published import Published
    from pybroker.testing.queue_view import QueueView
    from pybroker.testing.vhost import VirtualHost

__all__ = ["Broker", "Fault", "Published", "QueueView", "VirtualHost"]

_PLACES: Final = {
    "Broker": "broker",
    "Fault": "faults",
    "Published": "published",
    "QueueView": "queue_view",
    "VirtualHost": "vhost",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is used first: pytest imports this package in every run."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - likewise

    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)

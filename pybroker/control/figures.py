"""Figures: metrics of the core as columns of listings, each with the name, reader and help that the table has."""

from functools import partial
from typing import TYPE_CHECKING, Any

from pybroker.control.spec import Column

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pybroker.core.stats.metrics import Metric


def columns(metrics: "Mapping[str, Metric]", *names: str) -> tuple[Column, ...]:
    """Return a column for each of the metrics named, in this order."""
    return tuple(Column(name, metrics[name].read, metrics[name].help) for name in names)


def known(metrics: "Mapping[str, Metric]", *names: str) -> tuple[Column, ...]:
    """Return the same of figures that may be unknown: they are empty then."""
    return tuple(Column(name, partial(_known, metrics[name].read), metrics[name].help) for name in names)


def _known(read: "Callable[[Any], Any]", noun: Any) -> Any:
    figure = read(noun)
    return "" if figure is None else figure

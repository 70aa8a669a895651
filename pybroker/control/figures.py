"""Figures: metrics of the core as columns of listings, each with the name, reader and help that the table has."""

from typing import TYPE_CHECKING

from pybroker.control.spec import Column

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pybroker.core.stats.metrics import Metric


def columns(metrics: "Mapping[str, Metric]", *names: str) -> tuple[Column, ...]:
    """Return a column for each of the metrics named, in this order."""
    return tuple(Column(name, metrics[name].read, metrics[name].help) for name in names)

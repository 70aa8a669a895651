"""list_feature_flags: RabbitMQ's feature flags whose behaviour is built in."""

from typing import TYPE_CHECKING, NamedTuple

from pybroker.control.feature_flags import FLAGS, FeatureFlag
from pybroker.control.spec import Column, ColumnsArg, Command, Node

if TYPE_CHECKING:
    from collections.abc import Iterable


class Args(NamedTuple):
    """Columns."""

    columns: ColumnsArg = ()


def run(node: Node, args: Args) -> "Iterable[FeatureFlag]":
    """Return them by name."""
    del node, args
    return FLAGS


COLUMNS = (
    Column("name", lambda f: f.name, "name"),
    Column("state", lambda f: f.state, "always enabled; cannot be disabled"),
    Column("stability", lambda f: f.stability, "required"),
    Column("provided_by", lambda f: f.provided_by, "program that provides it"),
    Column("desc", lambda f: f.desc, "what it means"),
    Column("doc_url", lambda f: f.doc_url, "link to documentation; empty"),
)

COMMAND = Command(
    name="list_feature_flags",
    section="Feature flags",
    summary="Lists feature flags",
    args=Args,
    effect="read",
    access="management",
    run=run,
    columns=COLUMNS,
    default=("name", "state"),
    banner="Listing feature flags ...",
)

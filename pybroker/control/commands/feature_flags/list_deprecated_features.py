"""list_deprecated_features: features that RabbitMQ is going to drop and this node permits; all, or the ones in use."""

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pybroker.control.feature_flags import DEPRECATED, DeprecatedFeature, used
from pybroker.control.spec import Arg, Column, ColumnsArg, Command, Node

if TYPE_CHECKING:
    from collections.abc import Iterable


class Args(NamedTuple):
    """Columns, and which."""

    columns: ColumnsArg = ()
    used: Annotated[bool, Arg("only those in use", "--used")] = False


def run(node: Node, args: Args) -> "Iterable[DeprecatedFeature]":
    """Return them by name."""
    return used(node.broker, node.pause) if args.used else DEPRECATED


def banner(args: Args) -> str:
    """Return rabbitmqctl's banner."""
    return "Listing deprecated features in use ..." if args.used else "Listing deprecated features ..."


COLUMNS = (
    Column("name", lambda f: f.name, "name"),
    Column("deprecation_phase", lambda f: f.deprecation_phase, "stage of deprecation in RabbitMQ"),
    Column("state", lambda f: f.state, "always permitted"),
    Column("provided_by", lambda f: f.provided_by, "program that provides it"),
    Column("desc", lambda f: f.desc, "what it means"),
    Column("doc_url", lambda f: f.doc_url, "link to documentation; empty"),
)

COMMAND = Command(
    name="list_deprecated_features",
    section="Feature flags",
    summary="Lists features of this node that RabbitMQ has deprecated",
    args=Args,
    effect="read",
    access="management",
    run=run,
    columns=COLUMNS,
    default=("name", "deprecation_phase", "state"),
    banner=banner,
)

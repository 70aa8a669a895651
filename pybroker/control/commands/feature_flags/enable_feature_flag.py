"""enable_feature_flag: for upgrade scripts, which enable them all; all listed flags are enabled already."""

from typing import Annotated, NamedTuple

from pybroker.control.arguments.nearest import nearest
from pybroker.control.feature_flags import FLAGS
from pybroker.control.spec import EX_USAGE, Arg, Command, Node, Refused

ALL = "all"


class Args(NamedTuple):
    """One flag, or all."""

    feature_flag: Annotated[str, Arg("name of the feature flag, or all", "", "feature_flag|all")]


def run(node: Node, args: Args) -> None:
    """Succeed for a flag that is listed. Raises Refused for any other."""
    names = [flag.name for flag in FLAGS]
    if args.feature_flag not in {ALL, *names}:
        text = f"This feature flag is not supported by node {node.name}"
        raise Refused(text + nearest(args.feature_flag, names), EX_USAGE)


def banner(args: Args) -> str:
    """Return rabbitmqctl's banner."""
    return (
        "Enabling all feature flags ..." if args.feature_flag == ALL else 'Enabling feature flag "{feature_flag}" ...'
    )


COMMAND = Command(
    name="enable_feature_flag",
    section="Feature flags",
    summary="Succeeds for every feature flag of the node; all are always enabled",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner=banner,
)

"""check_if_any_deprecated_features_are_used: health check that fails while anything uses what RabbitMQ will drop."""

from pybroker.control.feature_flags import used
from pybroker.control.spec import EX_UNAVAILABLE, Command, NoArgs, Node, Refused


def run(node: Node, args: NoArgs) -> str:
    """Return rabbitmq-diagnostics' sentence. Raises Refused with the names of those in use."""
    del args
    names = [feature.name for feature in used(node.broker, node.pause)]
    if names:
        text = f"Cluster reported deprecated features in use: {', '.join(names)}"
        raise Refused(text, EX_UNAVAILABLE, {"deprecated_features": names})
    return "Cluster reported no deprecated features in use"


COMMAND = Command(
    name="check_if_any_deprecated_features_are_used",
    section="Feature flags",
    summary="Health check: fails if a feature is in use that RabbitMQ has deprecated",
    args=NoArgs,
    effect="read",
    access="management",
    run=run,
    banner="Checking if any deprecated features are used ...",
)

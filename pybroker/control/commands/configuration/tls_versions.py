"""tls_versions: which versions of TLS clients may speak."""

from typing import Any

from pybroker.control.spec import Command, NoArgs, Node


def run(node: Node, args: NoArgs) -> dict[str, Any]:
    """Return the configured versions, the newest first; without a TLS listener those that could be."""
    del args
    # Differs from RabbitMQ: it lists what its runtime could speak, whatever is configured.
    versions = sorted(node.daemon.tls_versions, reverse=True)
    return node.result("\n".join(versions), versions=versions)


COMMAND = Command(
    name="tls_versions",
    section="Configuration",
    summary="Lists the TLS versions that the node accepts; without a TLS listener, the ones that it supports",
    args=NoArgs,
    effect="read",
    access="monitoring",
    run=run,
    banner="Listing all TLS versions supported by the runtime...",
)

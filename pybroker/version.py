"""The version of this program, and the RabbitMQ version whose behaviour clients may count on."""

from typing import Final

VERSION: Final = "0.1.0"

# kombu, MassTransit and others choose their semantics (QoS scope, quorum arguments) by product and version.
RABBITMQ_VERSION: Final = "3.13.0"

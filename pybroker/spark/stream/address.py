"""The address of the stream protocol: a port of its own beside AMQP's."""

from dataclasses import replace
from typing import Final

from pybroker.client.options import Address, Options

STREAM_PORT: Final = 5552
STREAM_TLS_PORT: Final = 5551


def stream_options(options: Options, port: int | None = None) -> Options:
    """Return options for AMQP as those of a link: by the protocol's port, or another one."""
    chosen = port or (STREAM_TLS_PORT if options.tls is not None else STREAM_PORT)
    return replace(options, addresses=tuple(Address(each.host, chosen) for each in options.addresses))

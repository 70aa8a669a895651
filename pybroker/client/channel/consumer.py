"""A consumer as the client remembers it: whom to call, and how to consume again after a recovery."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pybroker.client.message import Message

OnMessage = Callable[[Message], object]
OnCancel = Callable[[str], object]


class Consumer(NamedTuple):
    """One basic.consume. `on_cancel(consumer_tag)` is called when the broker ends it, e.g. with its queue."""

    tag: str
    queue: str
    on_message: OnMessage
    on_cancel: OnCancel | None
    no_ack: bool
    exclusive: bool
    no_local: bool
    arguments: Mapping[str, Any]

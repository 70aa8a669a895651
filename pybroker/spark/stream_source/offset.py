"""Offset: how far a query is, as it stands in Spark's checkpoint. Its form is kept.

    {"streams": {"orders-0": {"id": 7, "next": 123}, ...}, "v": 1}

`id` is the stream's own: one that was deleted and made anew has another. RabbitMQ tells none: 0.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pybroker.client.errors import ClientError

VERSION: Final = 1
# Behind a sentence about messages that cannot be had.
ADVICE: Final = "set failOnDataLoss=false to go on behind them"


class OffsetError(ClientError):
    """An offset of a checkpoint that is not one of this source, or of a newer version."""


class DataLossError(ClientError):
    """Messages that the query has not read are gone. With failOnDataLoss=false it goes on behind them."""


class At(NamedTuple):
    """A place in a stream: the stream's id, and the offset of the next message."""

    id: int
    next: int


Places = Mapping[str, At]


def encode(places: Places) -> dict[str, Any]:
    """Return the offset of these places: the same ones give the same text."""
    return {
        "streams": {name: {"id": places[name].id, "next": places[name].next} for name in sorted(places)},
        "v": VERSION,
    }


def decode(offset: Mapping[str, Any]) -> dict[str, At]:
    """Return the places of an offset. Raises OffsetError."""
    version = offset.get("v")
    if version != VERSION:
        text = "of a query that reads a queue" if "segment" in offset else f"of version {version!r}"
        raise OffsetError(f"the checkpoint is {text}: each query needs its own checkpointLocation")
    return {name: At(place["id"], place["next"]) for name, place in offset["streams"].items()}

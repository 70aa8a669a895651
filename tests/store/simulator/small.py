"""Small sizes for shapes that grow too rarely: segments of some KiB, batches of a few hundred octets."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

SIZES = {
    "journal.journal": {
        "BATCH_OCTETS": 500,
        "EAGER_OCTETS": 400,
        "SEGMENT_OCTETS_MIN": 512,
        "SEGMENT_OCTETS_MAX": 2_400,
    },
    "journal.maintenance": {
        "FIRST_OCTETS": 900,
        "RESERVE_MAX": 2_048,
        "COMPACT_OCTETS": 300,
        "COMPACT_PARTS": 0.8,
        "CHECKPOINT_MS": 20_000,
    },
    "segments.live_index": {"INDEX_EVERY_OCTETS": 150, "NAME_EVERY_OCTETS": 600},
    "journal.batch_builder": {"RECORD_OCTETS_MAX": 160},
    "segments.segment": {"FIRST_OCTETS": 256, "READ_OCTETS": 1_024, "GAP_OCTETS": 64},
    "segments.ack_ranges": {"PART_MAX": 8, "NORMALIZE_AT": 4, "JOIN_BELOW": 4},
    "page_log": {"WRITE_OCTETS": 300},
    "tools.backup": {"COPY_OCTETS": 700, "SYNC_OCTETS": 1_400},
    "tools.stream_copy": {"COPY_OCTETS": 300},
    "streams.writer": {
        "POINT_DISTANCE_OCTETS": 250,
        "WRITE_OCTETS": 900,
        "DROP_OCTETS_MIN": 300,
        "KEPT_OCTETS": 1_500,
    },
}
# Of core/stream.
STREAM_SIZES = {
    "pieces.straight": {"OCTETS_MIN": 200, "BEFORE_OCTETS_MAX": 6_000, "STREAMS_MAX": 2},
    "pieces.pieces": {"PIECE_MESSAGES_MAX": 12, "PIECE_OCTETS_MAX": 1_500},
    "pieces.load": {"LOADS_MAX": 2},
    "pieces.recover": {"LOGGED_MESSAGES_MAX": 12, "LOGGED_OCTETS_MAX": 3_000},
    "streams": {
        "STREAM_OCTETS": 4_000,
        "NODE_OCTETS": 9_000,
        "MERGE_OCTETS": 2_500,
        "MOVES_MAX": 2,
        "MOVE_OCTETS_MAX": 2_500,
        "SEGMENT_OCTETS_MIN": 500,
    },
}


@contextmanager
def small_store(rng: random.Random) -> Iterator[None]:
    """Shrink the store, and draw the ids of its logs from `rng`."""

    def draw() -> int:
        return rng.getrandbits(32)

    changes = {f"store.{module}": dict(sizes) for module, sizes in SIZES.items()}
    changes |= {f"core.stream.{module}": dict(sizes) for module, sizes in STREAM_SIZES.items()}
    for module in ("segments.log_id", "page_log", "streams.recovery"):
        changes.setdefault(f"store.{module}", {})["draw"] = draw
    before = []
    try:
        for name, values in changes.items():
            module = import_module(f"pybroker.{name}")
            for constant, value in values.items():
                before.append((module, constant, getattr(module, constant)))
                setattr(module, constant, value)
        yield
    finally:
        for module, constant, value in before:
            setattr(module, constant, value)

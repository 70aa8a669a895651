"""The log of a stream on disk: chunks in segments, indexes of them, what recovery makes of a folder.

Owns the folder of each stream. Knows runs and offsets, no readers and no brokers, and does not know which of a stream's
messages are still in the journal: that is the caller's.
"""

from pybroker.store.streams.folder import remove_stream, stream_ids
from pybroker.store.streams.format import Chunk
from pybroker.store.streams.stream_log import StreamLog

__all__ = ["Chunk", "StreamLog", "remove_stream", "stream_ids"]

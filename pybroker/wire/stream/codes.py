"""Numbers of the stream protocol: keys of its commands, response codes, types of offsets."""

from enum import IntEnum
from typing import Final


class Key(IntEnum):
    """The commands; responses have the highest bit set."""

    DECLARE_PUBLISHER = 1
    PUBLISH = 2
    PUBLISH_CONFIRM = 3
    PUBLISH_ERROR = 4
    QUERY_PUBLISHER_SEQUENCE = 5
    DELETE_PUBLISHER = 6
    SUBSCRIBE = 7
    DELIVER = 8
    CREDIT = 9
    STORE_OFFSET = 10
    QUERY_OFFSET = 11
    UNSUBSCRIBE = 12
    CREATE_STREAM = 13
    DELETE_STREAM = 14
    METADATA = 15
    METADATA_UPDATE = 16
    PEER_PROPERTIES = 17
    SASL_HANDSHAKE = 18
    SASL_AUTHENTICATE = 19
    TUNE = 20
    OPEN = 21
    CLOSE = 22
    HEARTBEAT = 23
    ROUTE = 24
    PARTITIONS = 25
    CONSUMER_UPDATE = 26
    EXCHANGE_COMMAND_VERSIONS = 27
    STREAM_STATS = 28
    CREATE_SUPER_STREAM = 29
    DELETE_SUPER_STREAM = 30
    RESOLVE_OFFSET_SPEC = 31


class Code(IntEnum):
    """Codes of responses."""

    OK = 1
    STREAM_DOES_NOT_EXIST = 2
    SUBSCRIPTION_ID_ALREADY_EXISTS = 3
    SUBSCRIPTION_ID_DOES_NOT_EXIST = 4
    STREAM_ALREADY_EXISTS = 5
    STREAM_NOT_AVAILABLE = 6
    SASL_MECHANISM_NOT_SUPPORTED = 7
    AUTHENTICATION_FAILURE = 8
    SASL_ERROR = 9
    AUTHENTICATION_FAILURE_LOOPBACK = 11
    VHOST_ACCESS_FAILURE = 12
    UNKNOWN_FRAME = 13
    FRAME_TOO_LARGE = 14
    INTERNAL_ERROR = 15
    ACCESS_REFUSED = 16
    PRECONDITION_FAILED = 17
    PUBLISHER_DOES_NOT_EXIST = 18
    NO_OFFSET = 19
    CANNOT_CHANGE_MECHANISM = 20
    CANNOT_CHANGE_USERNAME = 21


class OffsetType(IntEnum):
    """Types of places to begin; those of VALUED are followed by a value."""

    FIRST = 1
    LAST = 2
    NEXT = 3
    OFFSET = 4
    TIMESTAMP = 5


VALUED: Final = frozenset({OffsetType.OFFSET, OffsetType.TIMESTAMP})


# The highest bit of a key: the frame is a response.
RESPONSE: Final = 0x8000
VERSION_1: Final = 1
VERSION_2: Final = 2
# A property of Subscribe that is pybroker's own: the reader wants nothing from this offset on, and to be told which
# messages are passed over. A property of the same name, of the peer, says that it is known.
UNTIL: Final = "pybroker.until"

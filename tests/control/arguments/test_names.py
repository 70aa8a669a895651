"""Names that are too long."""

import pytest

from pybroker.control.arguments.names import NAME_OCTETS_MAX, check_name
from pybroker.control.spec import BadArguments


def test_octets_count():
    check_name("a queue", "é" * (NAME_OCTETS_MAX // 2))
    with pytest.raises(BadArguments, match="the name of a queue may have at most 255 octets"):
        check_name("a queue", "é" * (NAME_OCTETS_MAX // 2 + 1))

import pytest

from pybroker.client import Address, Options
from pybroker.client.options import Tls
from pybroker.spark.stream.address import stream_options


@pytest.mark.parametrize(("tls", "port"), [(None, 5552), (Tls(), 5551)])
def test_ports_are_those_of_the_protocol(tls, port):
    assert stream_options(Options(addresses=(Address("one", 1),), tls=tls)).addresses == (Address("one", port),)


def test_another_port_is_that_of_every_address():
    options = Options(addresses=(Address("one", 1), Address("two", 2)))
    assert stream_options(options, 7).addresses == (Address("one", 7), Address("two", 7))

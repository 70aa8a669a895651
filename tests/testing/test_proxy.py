import asyncio
import socket
import time

import pytest

from pybroker.testing.daemon_process import HOST
from pybroker.testing.proxy import Proxy


def run(scenario):
    """Run a scenario with a proxy in front of a server that sends back what it gets, and the proxy's address."""

    async def echo(reader, writer):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def main():
        upstream = await asyncio.start_server(echo, HOST, 0)
        proxy = Proxy()
        proxy.upstream_port = upstream.sockets[0].getsockname()[1]
        await proxy.accept()
        try:
            await asyncio.wait_for(scenario(proxy), 60)
        finally:
            proxy.refuse()
            proxy.drop()
            upstream.close()

    asyncio.run(main())


def test_octets_go_both_ways_and_so_does_the_end():
    async def scenario(proxy):
        reader, writer = await asyncio.open_connection(HOST, proxy.port)
        sent = bytes(range(256)) * 20_000
        writer.write(sent)
        writer.write_eof()
        assert await reader.read() == sent
        writer.close()

    run(scenario)


def test_a_connection_that_is_cut_is_reset():
    async def scenario(proxy):
        reader, writer = await asyncio.open_connection(HOST, proxy.port)
        writer.write(b"x")
        assert await reader.read(1) == b"x"
        assert proxy.drop({1}) == 0
        assert proxy.drop({link.upstream_port for link in proxy.links}) == 1
        with pytest.raises(ConnectionResetError):
            await reader.read()
        assert not proxy.links
        writer.close()

    run(scenario)


def test_who_is_refused_finds_nobody_and_the_port_stays():
    async def scenario(proxy):
        _, other = await asyncio.open_connection(HOST, proxy.port)
        proxy.refuse()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(HOST, proxy.port)
        with socket.socket() as thief, pytest.raises(OSError, match="in use"):
            thief.bind((HOST, proxy.port))
        await proxy.accept()
        reader, writer = await asyncio.open_connection(HOST, proxy.port)
        writer.write(b"x")
        assert await reader.read(1) == b"x"
        writer.close()
        other.close()

    run(scenario)


def test_a_latency_delays_each_direction_and_keeps_the_order():
    async def scenario(proxy):
        reader, writer = await asyncio.open_connection(HOST, proxy.port)
        proxy.latency_s = 0.05
        since = time.monotonic()
        writer.write(b"a")
        await asyncio.sleep(0.01)
        proxy.latency_s = 0.0
        writer.write(b"b")
        assert await reader.readexactly(2) == b"ab"
        assert time.monotonic() - since >= 0.05
        writer.close()

    run(scenario)


def test_much_that_is_delayed_arrives_whole():
    async def scenario(proxy):
        proxy.latency_s = 0.01
        reader, writer = await asyncio.open_connection(HOST, proxy.port)
        sent = bytes(range(256)) * 20_000
        writer.write(sent)
        writer.write_eof()
        assert await reader.read() == sent
        writer.close()

    run(scenario)


def test_without_the_daemon_a_connection_ends():
    async def scenario(proxy):
        with socket.socket() as nobody:
            nobody.bind((HOST, 0))
            proxy.upstream_port = nobody.getsockname()[1]
            reader, writer = await asyncio.open_connection(HOST, proxy.port)
            with pytest.raises(ConnectionResetError):
                await reader.read()
            writer.close()

    run(scenario)

"""TLS for a broker that speaks none: a proxy that decrypts, in a thread of its own; and certificates to go with it."""

import asyncio
import contextlib
import ssl
import subprocess
import threading
from concurrent.futures import Future
from pathlib import Path

from pybroker.client import Address
from tests.client.scripted import WAIT_S

_PIECE_OCTETS = 1 << 16


class Authority:
    """A certificate authority in a folder, made with the openssl command."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        folder.mkdir()
        self.certificate, self._key = self._paths(name)
        self._openssl("req", "-x509", *self._new(name), "-addext", "keyUsage=keyCertSign", "-out", self.certificate)

    def issue(self, name: str) -> tuple[str, str]:
        """Return the paths of a certificate for `name`, host or user, and of its key."""
        certificate, key = self._paths(name)
        request = f"{certificate}.request"
        extensions = Path(f"{certificate}.extensions")
        extensions.write_text(f"subjectAltName=DNS:{name}\n")
        self._openssl("req", *self._new(name), "-out", request)
        command = ["x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self._key, "-CAcreateserial"]
        self._openssl(*command, "-days", "2", "-extfile", str(extensions), "-out", certificate)
        return certificate, key

    def context(self, name: str, *, asks: bool = False) -> ssl.SSLContext:
        """Return a server's context for `name`; one that `asks` wants a certificate of this authority from clients."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.issue(name))
        if asks:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.certificate)
        return context

    def _paths(self, name: str) -> tuple[str, str]:
        return str(self.folder / f"{name}.pem"), str(self.folder / f"{name}.key")

    def _new(self, name: str) -> list[str]:
        key = self._paths(name)[1]
        how = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key]
        return [*how, "-subj", f"/CN={name}"]

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=60)


class TlsFront:
    """A listening socket; what comes through TLS goes on to the broker in the clear, and back."""

    def __init__(self, context: ssl.SSLContext, broker: tuple[str, int]) -> None:
        self._context = context
        self._broker = broker
        self._loop = asyncio.new_event_loop()
        self._pipes: set[asyncio.StreamWriter] = set()
        self._listening: Future[Address] = Future()

    def __enter__(self):
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self.address = self._listening.result(WAIT_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop)
        self._thread.join(WAIT_S)

    def cut(self) -> None:
        """Cut all connections, without a goodbye."""
        self._loop.call_soon_threadsafe(self._abort)

    def _abort(self) -> None:
        for pipe in self._pipes:
            # Python 3.11 aborts no transport that has just closed.
            with contextlib.suppress(AttributeError):
                pipe.transport.abort()

    def _stop(self) -> None:
        self._ending.set()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._ending = asyncio.Event()
        self._loop.set_exception_handler(lambda loop, context: None)  # a client that is refused is no news here
        server = await asyncio.start_server(self._join, "127.0.0.1", 0, ssl=self._context)
        self._listening.set_result(Address(*server.sockets[0].getsockname()))
        await self._ending.wait()
        server.close()
        self._abort()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs, ours = await asyncio.open_connection(*self._broker)
        pipes = {writer, ours}
        self._pipes |= pipes
        await asyncio.gather(_pump(reader, ours), _pump(theirs, writer))
        self._pipes -= pipes


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while octets := await reader.read(_PIECE_OCTETS):
            writer.write(octets)
            await writer.drain()
    except OSError:
        pass  # it was cut
    finally:
        writer.close()

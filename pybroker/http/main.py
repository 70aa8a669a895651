"""The command `pybroker-web`: waits for the node, and answers HTTP for as long as it is let."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import gevent
import gevent.os

from pybroker import paths
from pybroker.http.application import Application
from pybroker.http.metrics.application import Application as MetricsApplication
from pybroker.http.node import Node, Refused, Unavailable
from pybroker.http.samples.samples import Samples
from pybroker.http.server import Server, TlsServer
from pybroker.http.settings import Settings
from pybroker.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pybroker.http.tls import Certificates

# Between two looks for the node, and between two attempts to listen.
RETRY_S: Final = 1.0
# Lower than the broker's: messages come first.
NICE: Final = 5


@click.command(
    "pybroker-web",
    help="Answer HTTP requests about a node: the HTTP API and its web interface, and metrics for Prometheus. The node "
    "starts it; under systemd, its unit does.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--socket", "path", metavar="PATH", help="Socket of the node for this program.  [by node name]")
@click.option("--node", metavar="NAME@HOST", help=f"Node name.  [{paths.default_node_name()}]")
@click.option("--until-eof", is_flag=True, help="End when standard input does.")
@click.version_option(VERSION, message=f"pybroker-web {VERSION}")
def command(path: str | None, node: str | None, *, until_eof: bool) -> None:
    """Serve until a signal, or the end of standard input, ends the process."""
    os.nice(NICE)
    chosen = Path(path) if path else paths.web_socket(paths.control_socket(node or paths.default_node_name()))
    life = gevent.spawn(_serve, Node(chosen))
    if until_eof:
        gevent.spawn(_end_with_input)
    life.get()


def _serve(node: Node) -> None:
    """Serve metrics, and the HTTP API if there is to be one."""
    metrics, management = _settings(node)
    servers = [Server((metrics.host, metrics.port), MetricsApplication(node, metrics.series_max))]
    if management is not None:
        samples = Samples(node)
        gevent.spawn(samples.run)
        servers.append(Server((management.host, management.port), Application(node, management, samples)))
        if management.tls is not None:
            place = (management.tls_host, management.tls_port)
            servers.append(TlsServer(place, servers[-1].application, _certificates(management.tls)))
    gevent.joinall([gevent.spawn(_listen, server) for server in servers], raise_error=True)


def _certificates(options: "Mapping[str, Any]") -> "Certificates":
    """Return the certificates of HTTPS, as soon as they can be read."""
    from pybroker.http.tls import Certificates, TlsError  # noqa: PLC0415 - OpenSSL, for those who use TLS

    told = ""
    while True:
        try:
            certificates = Certificates(options, _tell)
        except TlsError as error:
            if error.text != told:
                _tell(f"no HTTPS: {error.text}; trying again")
            told = error.text
            gevent.sleep(RETRY_S)
        else:
            gevent.spawn(certificates.run)
            return certificates


def _listen(server: Server) -> None:
    """Serve one address, as soon as it is free."""
    told, (host, port) = "", server.address
    while True:
        try:
            server.start()
            break
        except OSError as error:
            text = f"cannot listen on {host}:{port} ({os.strerror(error.errno or 0)}); trying again"
            if text != told:
                _tell(text)
            told = text
            gevent.sleep(RETRY_S)
    host, port = server.address[:2]
    _tell(f"listening on {host}:{port}")
    server.serve_forever()


def _settings(node: Node) -> Settings:
    """Return the settings, as soon as the node answers."""
    while True:
        try:
            return Settings.of(node.ask("web_settings"))
        except (Unavailable, Refused):
            gevent.sleep(RETRY_S)


def _tell(text: str) -> None:
    """Write a line for people, or for the log of the node that started this."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _end_with_input() -> None:
    while gevent.os.tp_read(0, 1_024):
        pass
    os._exit(os.EX_OK)


def main() -> None:
    """Run the command."""
    command()


if __name__ == "__main__":
    main()

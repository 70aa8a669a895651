"""The command `pybroker-web`: waits for the node, and answers HTTP for as long as it is let."""

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import gevent
import gevent.os

from pybroker import paths
from pybroker.http.application import Application
from pybroker.http.door.access_log import JSON, AccessLog
from pybroker.http.door.server import Server, TlsServer
from pybroker.http.metrics.application import Application as MetricsApplication
from pybroker.http.node import Node, Refused, Unavailable
from pybroker.http.samples.samples import Samples
from pybroker.http.settings import Management, Settings
from pybroker.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pybroker.http.door.tls import Certificates

# Between two looks for the node, and between two attempts to listen.
RETRY_S: Final = 1.0
# Between two looks whether an access log is wanted.
FOLLOW_S: Final = 5.0
# Lower than the broker's: messages come first.
NICE: Final = 5
INTERFACE: Final = "HTTP API and web interface"


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
    if until_eof:
        # A unit of systemd has a priority of its own, and lets nobody change it; other places may not, either.
        with contextlib.suppress(PermissionError):
            os.nice(NICE)
            # Nor does it take a core from the broker as soon as it has something to do.
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    chosen = Path(path) if path else paths.web_socket(paths.control_socket(node or paths.default_node_name()))
    life = gevent.spawn(_serve, Node(chosen), told_to_node=until_eof)
    if until_eof:
        gevent.spawn(_end_with_input)
    life.get()


def _serve(node: Node, *, told_to_node: bool) -> None:
    """Serve metrics and the HTTP API, as far as they are wanted; what is told goes to the node's log or is the log."""
    metrics, management, form = _settings(node)
    # The node gives each line the form of its log.
    forms = {"text": JSON} if told_to_node else {}
    requests = AccessLog(_tell, forms.get(form, form))
    gevent.spawn(_follow, node, requests, forms)
    served = []
    if metrics is not None:
        metrics_server = Server((metrics.host, metrics.port), MetricsApplication(node, metrics.series_max), requests)
        served.append(gevent.spawn(_listen, metrics_server, "metrics"))
    if management is not None:
        samples = Samples(node)
        gevent.spawn(samples.run)
        application = Application(node, management, samples)
        plain = Server((management.host, management.port), application, requests)
        served.append(gevent.spawn(_listen, plain, INTERFACE))
        if management.tls is not None:
            served.append(gevent.spawn(_listen_over_tls, management, application, requests))
    if not served:
        _tell("neither metrics nor the HTTP API are enabled: there is nothing to serve")
    gevent.joinall(served, raise_error=True)


def _follow(node: Node, requests: AccessLog, forms: "Mapping[str, str]") -> None:
    """Write the access log while the node's log wants it."""
    while True:
        gevent.sleep(FOLLOW_S)
        with contextlib.suppress(Unavailable, Refused):
            form = node.ask("web_settings")["access_log"]
            requests.form = forms.get(form, form)


def _listen_over_tls(management: Management, application: Application, requests: AccessLog) -> None:
    """Serve the HTTP API over TLS, as soon as there are certificates; nothing else waits for them."""
    certificates = _certificates(management.tls or {})
    server = TlsServer((management.tls_host, management.tls_port), application, requests, certificates)
    _listen(server, f"{INTERFACE} over TLS")


def _certificates(options: "Mapping[str, Any]") -> "Certificates":
    """Return the certificates of HTTPS, as soon as they can be read."""
    from pybroker.http.door.tls import Certificates, TlsError  # noqa: PLC0415 - OpenSSL, for those who use TLS

    told = ""
    while True:
        try:
            certificates = Certificates(options, _tell)
        except TlsError as error:
            if error.text != told:
                _tell(f"warning: no HTTPS: {error.text}; trying again")
            told = error.text
            gevent.sleep(RETRY_S)
        else:
            gevent.spawn(certificates.run)
            return certificates


def _listen(server: Server, purpose: str) -> None:
    """Serve one address, as soon as it is free; the log says what it is for."""
    told, (host, port) = "", server.address
    while True:
        try:
            server.start()
            break
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            text = f"warning: cannot listen on {host}:{port} for {purpose} ({reason}); trying again"
            if text != told:
                _tell(text)
            told = text
            gevent.sleep(RETRY_S)
    host, port = server.address[:2]
    _tell(f"listening on {host}:{port} for {purpose}")
    server.serve_forever()


def _settings(node: Node) -> Settings:
    """Return the settings, as soon as the node answers."""
    while True:
        try:
            return Settings.of(node.ask("web_settings"))
        except (Unavailable, Refused):
            gevent.sleep(RETRY_S)


def _tell(text: str) -> None:
    """Write a line for people, or for the log of the node that started this: it knows warnings by their first word."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _end_with_input() -> None:
    while gevent.os.tp_read(0, 1_024):
        pass
    os._exit(os.EX_OK)


def execute(argv: list[str]) -> int:
    """Run the command line; return the exit code, after one line on standard error if it is not 0."""
    try:
        command.main(argv, "pybroker-web", standalone_mode=False)
    except click.ClickException as error:
        _tell(f"pybroker-web: {' '.join(error.format_message().split())} (pybroker-web --help)")
        return os.EX_USAGE
    except (KeyboardInterrupt, click.Abort):
        return 130
    return os.EX_OK


def main() -> None:
    """Run pybroker-web and exit."""
    sys.exit(execute(sys.argv[1:]))


if __name__ == "__main__":
    main()

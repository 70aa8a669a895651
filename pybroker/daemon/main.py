"""The command `pybroker`: reads options and configuration, starts the daemon, turns what goes wrong into one line.

Loads nothing heavy before it is needed, so that `--help` and a mistake are answered at once.
"""

import os
import platform
import sys
from typing import Any

import click

from pybroker import paths
from pybroker.daemon.config.config import Config
from pybroker.daemon.config.load import load
from pybroker.daemon.config.options import Options
from pybroker.daemon.start_error import StartError
from pybroker.version import RABBITMQ_VERSION, VERSION

EPILOG = """Without options pybroker listens on port 5672 of all interfaces, and on 5552 for the stream protocol.
It needs no configuration file. Options override the file. See pybroker(8) and pybroker.conf(5)."""
VERSION_LINE = f"pybroker {VERSION} (RabbitMQ {RABBITMQ_VERSION}, Python {platform.python_version()})"


@click.command(
    "pybroker",
    epilog=EPILOG,
    help="Run a RabbitMQ-compatible message broker in the foreground.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--port",
    metavar="PORT",
    help="TCP port for AMQP, and no default port for streams; 0 for any free port.  [5672]",
)
@click.option("--bind", multiple=True, metavar="ADDRESS", help="IP address or localhost; may be repeated.  [all]")
@click.option("--unix", multiple=True, metavar="PATH", help="Also listen for AMQP on a Unix socket.")
@click.option("--data-dir", metavar="FOLDER", help=f"Data folder, which also holds the log.  [{paths.data_dir()}]")
@click.option(
    "--socket", metavar="PATH", envvar=paths.SOCKET_VARIABLE, help="Control socket, for pybrokerctl.  [by node name]"
)
@click.option("--node", metavar="NAME@HOST", help=f"Node name.  [the data folder's, else {paths.default_node_name()}]")
@click.option("--config", metavar="FILE", help=f"Configuration file.  [{paths.config_file()}, if there]")
@click.option("--log", metavar="FILE", help=f"Log file, - for standard output.  [{paths.log_dir()}/NODENAME.log]")
@click.option("--log-level", metavar="LEVEL", help="debug, info, notice, warning, error, critical or none.  [info]")
@click.option("--web/--no-web", default=None, help="Start pybroker-web: web interface, HTTP API, metrics.  [start it]")
@click.option("--check", is_flag=True, help="Check options and configuration, print faults, and exit.")
@click.version_option(VERSION, message=VERSION_LINE)
def command(**given: Any) -> int:
    """Run the daemon; return the exit code."""
    options = Options(**given)
    config = load(options)
    if options.check:
        _tell(config)
        return os.EX_OK
    from pybroker.daemon.boot import boot  # noqa: PLC0415 - gevent and the broker, which --help and --check do not need

    exit_code: int = boot(config).run()
    return exit_code


def _tell(config: Config) -> None:
    """Write that nothing is wrong, any oddities, and what the limits come to here."""
    from pybroker.daemon.config import check  # noqa: PLC0415 - a start does not need it

    lines = list(check.told(config))
    click.echo(f"pybroker: {' and '.join(('the options', *config.settings.config_files))}: no faults")
    for warning in config.warnings:
        complain(f"warning: {warning}")
    for line in lines:
        click.echo(line)


def execute(argv: list[str]) -> int:
    """Run the command line; return the exit code, after one line on standard error if it is not 0."""
    try:
        return int(command.main(argv, "pybroker", standalone_mode=False) or 0)
    except click.ClickException as error:
        complain(f"{error.format_message()} (pybroker --help)")
        return os.EX_USAGE
    except StartError as error:
        for line in error.problems if "--check" in argv else [error.text]:
            complain(line)
        return error.code
    except (KeyboardInterrupt, click.Abort):
        return 130


def complain(text: str) -> None:
    """Write one line on standard error."""
    click.echo(f"pybroker: {' '.join(text.split())}", err=True)


def main() -> None:
    """Run pybroker and exit."""
    sys.exit(execute(sys.argv[1:]))

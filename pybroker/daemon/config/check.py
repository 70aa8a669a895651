"""Answer of `pybroker --check` to a valid configuration: how much memory there is, and what the limits come to.

The limits depend on the machine: otherwise an operator would see them only once the broker runs.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pybroker import paths
from pybroker.core.resources.resource_limits import ASSUMED, CONFIGURED, MIB, ResourceLimits
from pybroker.daemon import loading
from pybroker.daemon.config.config import Config
from pybroker.daemon.config.load import load
from pybroker.daemon.config.options import Options
from pybroker.daemon.configuration import refused
from pybroker.daemon.resources import total_memory
from pybroker.daemon.start_error import StartError
from pybroker.humanize import counted

if TYPE_CHECKING:
    from pybroker.daemon.config.tls_options import TlsOptions


def document(path: str | None) -> dict[str, Any]:
    """Check the configuration file, None for the usual one; return what there is to say, with a `message`.

    Raises Refused with the sentences of all faults.
    """
    try:
        config = load(Options(config=path))
        lines = list(told(config))
    except StartError as error:
        raise refused(error, "The configuration is invalid") from None
    files = config.settings.config_files
    head = f"No faults in {', '.join(files)}" if files else f"{paths.config_file()} does not exist: the defaults apply"
    warnings = [f"warning: {warning}" for warning in config.warnings]
    return {
        "result": "ok",
        "files": list(files),
        "warnings": config.warnings,
        "overridden": [f"{each.where}: {each.key}" for each in config.overridden],
        "limits": lines,
        "message": "\n".join([head, *warnings, *lines]),
    }


def told(config: Config) -> Iterator[str]:
    """Yield a line per limit; nothing is logged. Raises StartError: a file of definitions or of TLS is broken."""
    marks = config.settings.watermarks
    found = total_memory.measure()
    # Not taken: that would write to the log, which is not open.
    marks.total = marks.bound_by(found)
    yield f"available memory: {size(marks.total.octets)}, {_source(marks)}"
    yield f"memory limit: {size(marks.memory_limit_octets)}, {_memory(marks)}"
    if marks.paging_ratio > 1:
        yield f"paging threshold: none, the ratio is {marks.paging_ratio}"
    else:
        yield f"paging threshold: {size(marks.paging_octets)}, {marks.paging_ratio} of the limit"
    how = "as configured" if marks.disk_relative is None else f"{marks.disk_relative} of the available memory"
    yield f"free disk limit: {size(marks.disk_limit_octets)}, {how}"
    if config.tls is not None:
        yield from _told_of_tls(config.tls)
    if config.management is not None and config.management.tls is not None:
        yield from _told_of_tls(config.management.tls)
    if config.definitions:
        places = ", ".join(map(str, config.definitions))
        yield f"definitions: {counted(loading.check(config), 'item')} in {places}"


def _told_of_tls(options: "TlsOptions") -> Iterator[str]:
    from pybroker.daemon.tls.build import build  # noqa: PLC0415 - OpenSSL, for those who use TLS
    from pybroker.daemon.tls.certificate_files import certificate_files  # noqa: PLC0415 - likewise

    build(options)
    for file in certificate_files(options):
        if not file.of_authorities:
            for own in file.certificates[:1]:
                yield f"TLS certificate: {file.path}, {own.subject}, valid {own.validity}"


def size(octets: int) -> str:
    """Return `953MiB (1000000000 octets)`, cut off as in the log."""
    return f"{octets // MIB}MiB ({octets} octets)"


def _source(marks: ResourceLimits) -> str:
    match marks.total.source:
        case ASSUMED.source:
            return "assumed, because the system does not report it"
        case source if source == CONFIGURED:
            return "configured" + (f"; {size(marks.total.installed)} are installed" if marks.total.installed else "")
        case "RAM":
            return "all installed memory"
        case source:
            return f"limited by {source}; {size(marks.total.installed)} are installed"


def _memory(marks: ResourceLimits) -> str:
    if marks.memory_limit_octets == 0:
        return "which blocks all publishers"
    if marks.memory_octets is not None:
        return "as configured" if marks.memory_octets <= marks.total.octets else "capped at the available memory"
    never = marks.memory_relative is not None and marks.memory_relative > 1
    return f"{marks.memory_relative} of the available memory" + (", which disables the alarm" if never else "")

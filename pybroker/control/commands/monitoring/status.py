"""status: the node's version, places and resources; of RabbitMQ's keys only the ones that exist here."""

import os
import resource
import sys
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, cast

from pybroker.control import alarms, listeners
from pybroker.control.spec import Arg, Command, Node
from pybroker.version import RABBITMQ_VERSION, VERSION

if TYPE_CHECKING:
    import psutil

    from pybroker.amqp.session import AmqpSession
    from pybroker.core.resources.resource_limits import ResourceLimits
    from pybroker.core.settings import Settings

UNITS = ("bytes", "mb", "mib", "gb", "gib", "tb", "tib")

# Modules that have twins in C: of AMQP, and those that streams need.
CODECS: Final = ("content", "stream.entries", "amqp10.to_content")
OF_STREAMS: Final = ("entries of streams", "AMQP 1.0")


class Args(NamedTuple):
    """The unit is for pybrokerctl: the document counts octets."""

    unit: Annotated[str, Arg(f"unit of sizes: {', '.join(UNITS)}", "--unit", choices=UNITS, any_case=True)] = "gb"


def run(node: Node, args: Args) -> dict[str, Any]:
    """Return the document that `--formatter json` shows."""
    del args
    broker, settings = node.broker, node.broker.settings
    sessions = cast("list[AmqpSession]", list(broker.sessions.values()))
    return {
        "pid": os.getpid(),
        "os": os.uname().sysname,
        "uptime": (broker.clock.now_ms - broker.started_ms) // 1000,
        "is_under_maintenance": False,
        "product_name": "pybroker",
        "product_version": VERSION,
        "rabbitmq_version": RABBITMQ_VERSION,
        "node_name": settings.node_name,
        "app_running": node.daemon.app_running,
        "runtime": _runtime(),
        "active_plugins": [],
        "data_directory": settings.data_dir,
        "config_files": list(settings.config_files),
        "log_files": list(settings.log_files),
        "alarms": alarms.rabbitmq_documents(broker),
        "resource_alarms": alarms.documents(broker),
        "notices": alarms.notices(broker),
        **_memory(settings.watermarks),
        "file_descriptors": {
            "total_used": _process().num_fds(),
            "total_limit": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
            "sockets_used": len(broker.sessions),
            "sockets_limit": node.daemon.sockets_max,
        },
        **_disk(settings),
        "totals": {
            "connection_count": sum(s.state not in {"header", "closed"} for s in sessions),
            "queue_count": sum(len(vhost.queues) for vhost in broker.vhosts.values()),
            "virtual_host_count": len(broker.vhosts),
        },
        "telemetry": node.daemon.telemetry_figures(),
        "listeners": listeners.documents(broker),
    }


def _runtime() -> str:
    # Imported late: pybrokerctl would pay at every call, 3 ms for platform, 25 ms for importlib.metadata.
    import platform  # noqa: PLC0415

    gevent_version = getattr(sys.modules.get("gevent"), "__version__", "not loaded")
    codec, *others = (getattr(sys.modules.get(f"pybroker.wire.{name}"), "CODEC", "not loaded") for name in CODECS)
    differing = [pair for pair in zip(others, OF_STREAMS, strict=True) if pair[0] != codec]
    codec = ", ".join([codec, *(f"{other} for {part}" for other, part in differing)])
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{python}, gevent {gevent_version}, codec: {codec}"


def _process() -> "psutil.Process":
    import psutil  # noqa: PLC0415 - likewise, 20 ms

    return psutil.Process()


def _memory(marks: "ResourceLimits") -> dict[str, Any]:
    """Return what was measured last, at most a second ago, and what it is compared with.

    `allocated` is the resident set without what is `reusable`; `used` is the figure that the limit is compared with.
    """
    if marks.memory_octets is None:
        setting: dict[str, Any] = {"relative": marks.memory_relative}
    else:
        setting = {"absolute": marks.memory_octets}
    measured = marks.measured
    # Nobody has measured yet while the node starts.
    rss = measured.rss or _process().memory_info().rss
    total = {
        "rss": rss,
        "allocated": rss - measured.reusable,
        "accounted": measured.accounted,
        "reusable": measured.reusable,
        "used": measured.used or rss,
    }
    return {
        "memory": {"total": total, "strategy": marks.strategy},
        "vm_memory_calculation_strategy": marks.strategy,
        "vm_memory_high_watermark_setting": setting,
        "vm_memory_high_watermark_limit": marks.memory_limit_octets,
        "vm_memory_high_watermark_paging_ratio": marks.paging_ratio,
        # Above a ratio of 1 nothing is paged out.
        "vm_memory_high_watermark_paging_limit": None if marks.paging_ratio > 1 else marks.paging_octets,
        "total_memory": {
            "bytes": marks.total.octets,
            "source": marks.total.source,
            "installed": marks.total.installed or None,
        },
    }


def _disk(settings: "Settings") -> dict[str, Any]:
    # A broker in a test has no folder.
    free = {}
    if settings.data_dir:
        import psutil  # noqa: PLC0415 - likewise

        free["disk_free"] = psutil.disk_usage(settings.data_dir).free
    marks = settings.watermarks
    return {
        **free,
        "disk_free_limit": marks.disk_limit_octets,
        "disk_free_monitoring": marks.measured.disk_free is not None,
    }


COMMAND = Command(
    name="status",
    section="Monitoring",
    summary="Displays the node's version, paths, listeners, limits and resource use",
    args=Args,
    effect="read",
    access="monitoring",
    run=run,
    banner="Status of node {node} ...",
    timeout_s=60,
    app="any",
)

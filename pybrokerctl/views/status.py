"""status for people: rabbitmqctl's sections, as far as the node has something to say in them."""

from collections.abc import Iterator
from typing import Any, Final

from pybrokerctl.views.sections import show

OCTETS: Final = {"bytes": 1, "mb": 10**6, "mib": 2**20, "gb": 10**9, "gib": 2**30, "tb": 10**12, "tib": 2**40}


def view(document: dict[str, Any], args: Any, *, drawn: bool = False) -> Iterator[str]:
    """Yield the text; sizes in `args.unit`."""
    told = alarms(document)
    sections = {
        "Runtime": _runtime(document),
        "Plugins": ["Enabled plugins:", *_bullets(document["active_plugins"])],
        "Data directory": [f"Node data directory: {document['data_directory'] or '(none)'}"],
        "Config files": _bullets(document["config_files"]),
        "Log file(s)": _bullets(document["log_files"]),
        "Alarms": told or ["(none)"],
        "Memory": _memory(document, args.unit),
        "File Descriptors": [
            "Total: {total_used}, limit: {total_limit}".format_map(document["file_descriptors"]),
            "Sockets: {sockets_used}, limit: {sockets_limit}".format_map(document["file_descriptors"]),
        ],
        "Free Disk Space": _disk(document, args.unit),
        "Totals": _totals(document["totals"]),
        "Telemetry": [_telemetry(document["telemetry"])],
        "Listeners": [listener(one) for one in document["listeners"]],
    }
    yield from show(sections, drawn=drawn, alarming=["Alarms"] if told else [])


def alarms(document: dict[str, Any]) -> list[str]:
    """Return the alarms with how long they have been set, and the notices behind them."""
    return [*(one["message"] for one in document["resource_alarms"]), *document["notices"]]


def size(octets: int, unit: str) -> str:
    """Return `0.128 gb`, four digits behind the point; the unit as it was given."""
    divisor = OCTETS[unit.lower()]
    return f"{octets if divisor == 1 else round(octets / divisor, 4)} {unit}"


def _runtime(document: dict[str, Any]) -> list[str]:
    return [
        f"OS PID: {document['pid']}",
        f"OS: {document['os']}",
        f"Uptime (seconds): {document['uptime']}",
        f"Is under maintenance?: {str(document['is_under_maintenance']).lower()}",
        f"Is serving clients?: {str(document['app_running']).lower()}",
        f"Product name: {document['product_name']}",
        f"Product version: {document['product_version']}",
        f"RabbitMQ version: {document['rabbitmq_version']}",
        f"Node name: {document['node_name']}",
        f"Python configuration: {document['runtime']}",
    ]


def _memory(document: dict[str, Any], unit: str) -> list[str]:
    total, limit = document["total_memory"], size(document["vm_memory_high_watermark_limit"], unit)
    setting = document["vm_memory_high_watermark_setting"]
    shown = f"{setting['relative']} of available memory" if "relative" in setting else f"{setting['absolute']} bytes"
    figures = {name: size(octets, unit) for name, octets in document["memory"]["total"].items()}
    installed = total["installed"]
    of = f" of {size(installed, unit)} installed" if installed and installed != total["bytes"] else ""
    ratio, paging = document["vm_memory_high_watermark_paging_ratio"], document["vm_memory_high_watermark_paging_limit"]
    return [
        f"Total memory used: {figures['used']}",
        f"Calculation strategy: {document['memory']['strategy']}",
        f"Resident set: {figures['rss']}, reusable of it: {figures['reusable']}, accounted for: {figures['accounted']}",
        f"Available memory: {size(total['bytes'], unit)} ({total['source']}){of}",
        f"Memory high watermark setting: {shown}, computed to: {limit}",
        f"Paging ratio: {ratio}, "
        + ("nothing is paged out" if paging is None else f"computed to: {size(paging, unit)}"),
    ]


def _bullets(lines: list[str]) -> list[str]:
    return [f" * {line}" for line in lines]


def _disk(document: dict[str, Any], unit: str) -> list[str]:
    limit = f"Low free disk space watermark: {size(document['disk_free_limit'], unit)}"
    free = [f"Free disk space: {size(document['disk_free'], unit)}"] if "disk_free" in document else []
    if not document["disk_free_monitoring"]:
        free.append("Free disk space is not monitored")
    return [limit, *free]


def _totals(totals: dict[str, int]) -> list[str]:
    return [
        f"Connection count: {totals['connection_count']}",
        f"Queue count: {totals['queue_count']}",
        f"Virtual host count: {totals['virtual_host_count']}",
    ]


def _telemetry(figures: dict[str, Any] | None) -> str:
    if figures is None:
        return "Off"
    dropped = f", dropped: {figures['dropped']}" if figures["dropped"] else ""
    every = f"Every {figures['interval_ms'] / 1000:g} s"
    streams = ""
    if own := figures.get("streams"):
        lost = f" ({own['dropped']} dropped)" if own["dropped"] else ""
        streams = f", messages in streams: {own['published']}{lost}"
    return f"{every}, rows written: {figures['rows']}, octets: {figures['octets']}{dropped}{streams}"


def listener(one: dict[str, Any]) -> str:
    """Return `Interface: [::], port: 5672, protocol: amqp, purpose: AMQP 0-9-1`."""
    return f"Interface: {one['interface']}, port: {one['port']}, protocol: {one['protocol']}, purpose: {one['purpose']}"

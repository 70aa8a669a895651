"""Alerts to a webhook, as Alertmanager sends them (its webhook format, version 4): JSON by POST over HTTP(S).

Each address has so many tries of so many seconds. Redirections are not followed, so that a secret goes nowhere else.
"""

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from pybroker.spark.pipeline.alerts.incidents import FIRING, RESOLVED

TRIES: Final = 3
TRY_S: Final = 10.0
# Between two tries, in seconds.
WAITS_S: Final = (1.0, 3.0)
BATCH: Final = 100
AGAIN: Final = frozenset({408, 429})
NEVER: Final = "0001-01-01T00:00:00Z"


class RefusedError(Exception):
    """The webhook did not accept the alerts: a sentence."""


def documents(told: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Sequence[Mapping[str, Any]], bytes]]:
    """Yield notifications, so many at a time, with the document that tells of them."""
    for begin in range(0, len(told), BATCH):
        some = told[begin : begin + BATCH]
        alerts = [_alert(one) for one in some]
        status = FIRING if any("ended_s" not in one for one in some) else RESOLVED
        document: dict[str, Any] = {"version": "4", "status": status, "receiver": "pybroker", "groupKey": "pybroker"}
        document |= {"alerts": alerts, "truncatedAlerts": 0, "externalURL": ""}
        document |= {"groupLabels": {}, "commonLabels": {}, "commonAnnotations": {}}
        yield some, json.dumps(document).encode()


def _alert(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "status": RESOLVED if "ended_s" in one else FIRING,
        "labels": {"alertname": f"pybroker_{one['report']}", **one["labels"]},
        "annotations": {"summary": one["summary"], "description": one["figures"]},
        "startsAt": _time(one["raised_s"]),
        "endsAt": _time(one["ended_s"]) if "ended_s" in one else NEVER,
        "generatorURL": "",
        "fingerprint": one["key"],
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def headers(path: Path | None) -> dict[str, str]:
    """Return the headers in a file, one `Name: value` a line. Raises RefusedError."""
    if path is None:
        return {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise RefusedError(f"{path}: {error}") from None
    pairs = [line.partition(":") for line in lines if line.strip()]
    # The line is a secret, so it is not shown.
    if not all(name.strip() and colon for name, colon, _ in pairs):
        raise RefusedError(f"{path}: each line must be a header, Name: value")
    return {name.strip(): value.strip() for name, _, value in pairs}


def post(url: str, body: bytes, more: Mapping[str, str], sleep: Callable[[float], None] = time.sleep) -> None:
    """Send a document, several times if need be. Raises RefusedError."""
    why = ""
    for number in range(TRIES):
        if number:
            sleep(WAITS_S[number - 1])
        try:
            status = _once(url, body, {"Content-Type": "application/json", "User-Agent": "pybroker", **more})
        except (OSError, ValueError, http.client.HTTPException) as error:
            why = str(error) or type(error).__name__
            continue
        if 200 <= status < 300:
            return
        why = f"status {status}"
        if status < 500 and status not in AGAIN:
            break
    # The address may have a secret in its path.
    raise RefusedError(f"the webhook at {urlsplit(url).hostname} did not accept alerts: {why}")


def _once(url: str, body: bytes, more: Mapping[str, str]) -> int:
    """Return the status of one try. Raises OSError, HTTPException, ValueError."""
    place = urlsplit(url)
    kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
    connection = kind(place.hostname or "", place.port, timeout=TRY_S)
    # The timeout is that of each octet; the whole has one too.
    timer = threading.Timer(TRY_S, _cut, (connection,))
    timer.daemon = True
    timer.start()
    try:
        target = f"{place.path or '/'}?{place.query}" if place.query else place.path or "/"
        connection.request("POST", target, body, dict(more))
        return connection.getresponse().status
    finally:
        timer.cancel()
        connection.close()


def _cut(connection: http.client.HTTPConnection) -> None:
    sock = connection.sock
    with contextlib.suppress(OSError):
        if sock is not None:
            sock.shutdown(socket.SHUT_RDWR)

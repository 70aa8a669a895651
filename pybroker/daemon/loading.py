"""load_definitions: files of definitions that the node imports when it starts, before anybody is served.

They come from the node's operator, so they may be of any size. `core/transfer/` knows their contents.
"""

import json
import logging
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import gevent

from pybroker.clock import Clock
from pybroker.core.auth.users import User
from pybroker.core.broker import Broker
from pybroker.core.events.cause import Cause
from pybroker.core.transfer.document import Document
from pybroker.core.transfer.transfer import Outcome, Work, bulleted
from pybroker.daemon.config.plain_file import read_octets
from pybroker.daemon.start_error import StartError, refused_by_system
from pybroker.log_event import event
from pybroker.session import Turn

if TYPE_CHECKING:
    from pybroker.daemon.config.config import Config

# How often is asked whether it is on disk.
DISK_PAUSE_S: Final = 0.001

log = logging.getLogger("pybroker")


def load(config: "Config", broker: "Broker") -> None:
    """Have all definitions that the configuration names, on disk too; nothing without any.

    Raises:
        StartError: one of the files cannot be read, or something in it cannot be; nothing was changed then.

    """
    if not config.definitions:
        return
    document = read(config.definitions)
    skip = config.definitions_skipped_if_unchanged
    cause = Cause("load_definitions, at the start")
    outcome = _finish(broker.transfer.imported(document, gevent.sleep, skip_if_unchanged=skip, cause=cause))
    if outcome.faults:
        raise StartError(_said(config.definitions, outcome.faults), os.EX_DATAERR)
    if outcome.stopped:
        raise StartError(f"cannot load the definitions: {outcome.stopped}", os.EX_DATAERR)
    for warning in outcome.warnings:
        log.warning("definitions: %s", warning, extra=event("definitions.warning"))
    places = ", ".join(map(str, config.definitions))
    log.info("%s from %s", outcome.text, places, extra=event("definitions.loaded"))
    if not len(broker.users):
        text = "no user exists, so no client can connect; create one with 'pybrokerctl add_user'"
        log.warning(text, extra=event("user.none"))
    _await_disk(broker, outcome.commit_position)


def check(config: "Config") -> int:
    """Check the files as a start does; return how many items they have. Raises StartError as `load`.

    Virtual hosts and users that no file has may be on the node.
    """
    document = read(config.definitions)
    broker = Broker(config.settings, Clock(), Turn())
    for item in document:
        vhost, user = item.value.get("vhost"), item.value.get("user")
        if vhost is not None and not document.has("vhosts", vhost):
            broker.add_vhost(vhost)
        if user is not None and not document.has("users", user):
            broker.users.load(User(user))
    outcome = _finish(broker.transfer.planned(document, time.sleep))
    if outcome.faults:
        raise StartError(_said(config.definitions, outcome.faults), os.EX_DATAERR)
    return len(document)


def read(places: tuple[Path, ...]) -> Document:
    """Return what is in files and folders, whose form is right. Raises StartError."""
    document = Document()
    for path in (file for place in places for file in _files(place)):
        content = _parse(path)
        # Each file has its own version, and how old hashes are read depends on it.
        document.version = ""
        for name in sorted(content, key=lambda name: (not name.endswith("_version"), name)):
            for _ in document.read(name, content[name]):
                pass
        if document.faults:
            raise StartError(_said((path,), tuple(document.faults)), os.EX_DATAERR)
    document.finish()
    return document


def _files(place: Path) -> list[Path]:
    """Return a file, or those of a folder by name, but for hidden ones. Raises StartError."""
    try:
        if not place.is_dir():
            return [place]
        return sorted(path for path in place.iterdir() if path.is_file() and not path.name.startswith("."))
    except OSError as error:
        raise refused_by_system(f"cannot read the definitions in {place}", error, os.EX_NOINPUT) from None


def _parse(path: Path) -> dict[str, Any]:
    try:
        octets = read_octets(path)
    except OSError as error:
        raise refused_by_system(f"cannot read the definitions in {path}", error, os.EX_NOINPUT) from None
    try:
        content = json.loads(octets)
    except (ValueError, RecursionError) as error:
        raise StartError(f"the definitions in {path} are not JSON: {error}", os.EX_DATAERR) from None
    if not isinstance(content, dict):
        raise StartError(f"the definitions in {path} are not a JSON object", os.EX_DATAERR)
    return content


def _said(places: tuple[Path, ...], faults: tuple[str, ...]) -> str:
    """Return what is wrong: one line, as all that ends a start."""
    where = ", ".join(map(str, places))
    more = f" (and {len(faults) - 1} more; see the log)" if faults[1:] else ""
    if faults[1:]:
        # A line each, and not as arguments: these are cut off.
        first, *each = bulleted(f"the definitions in {where} cannot be loaded", faults).splitlines()
        log.error(first, extra=event("definitions.refused", more=tuple(each)))
    return f"the definitions in {where} cannot be loaded: {faults[0]}{more}"


def _finish(work: Work[Outcome]) -> Outcome:
    while True:
        try:
            next(work)
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome


def _await_disk(broker: "Broker", commit_position: int) -> None:
    """Return when changes up to a position survive a crash. Raises StartError if they never will."""
    definitions = broker.definitions
    while definitions.completed < commit_position:
        if definitions.failed:
            raise StartError(f"cannot write the definitions: {definitions.failed}", os.EX_IOERR)
        gevent.sleep(DISK_PAUSE_S)

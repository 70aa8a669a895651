"""Default places: node name, folders, the control socket; and the nodes that run here.

Shared by the daemon, which creates these places, and by pybrokerctl, which looks for the daemon in them. Nothing here
creates, opens or keeps anything but a trial connection. Root and the systemd unit use the system's folders (the unit
hands them over in the environment), everybody else those of platformdirs.
"""

import os
import socket
import stat
from pathlib import Path
from typing import Final

NAME: Final = "pybroker"
SOCKET_VARIABLE: Final = "PYBROKER_SOCKET"
SYSTEM_RUNTIME_DIR: Final = Path("/run") / NAME
# sun_path holds 108 octets on Linux, with the terminating zero (unix(7)).
SOCKET_PATH_OCTETS_MAX: Final = 107


def default_node_name() -> str:
    """Return `pybroker@HOST`, HOST without its domain."""
    return f"{NAME}@{socket.gethostname().partition('.')[0] or 'localhost'}"


def config_file() -> Path:
    """Return the configuration file that is read if it exists."""
    return _folder("CONFIGURATION_DIRECTORY", f"/etc/{NAME}", "user_config_path") / f"{NAME}.conf"


def data_dir() -> Path:
    """Return the data folder."""
    return _folder("STATE_DIRECTORY", f"/var/lib/{NAME}", "user_data_path")


def log_dir() -> Path:
    """Return the folder of `NODENAME.log`."""
    return _folder("LOGS_DIRECTORY", f"/var/log/{NAME}", "user_log_path")


def runtime_dir() -> Path:
    """Return the folder of the control socket: the usual one, or one in the data folder if that is another user's."""
    usual = usual_runtime_dir()
    # The folders of root and systemd were made for them.
    chosen = os.geteuid() == 0 or bool(os.environ.get("RUNTIME_DIRECTORY"))
    if usual is None or (not chosen and taken_by_another(usual)):
        return data_dir() / "run"
    return usual


def usual_runtime_dir() -> Path | None:
    """Return the folder of the control socket where no other user is in the way; None where platformdirs sees one."""
    try:
        return _folder("RUNTIME_DIRECTORY", str(SYSTEM_RUNTIME_DIR), "user_runtime_path")
    except OSError:
        return None


def taken_by_another(folder: Path) -> bool:
    """Tell whether a runtime folder, or its parent, which lies in /tmp without XDG_RUNTIME_DIR, is another user's."""
    for each in (folder.parent, folder):
        try:
            owner = each.lstat().st_uid
        except OSError:
            return False
        if owner not in {0, os.geteuid()}:
            return True
    return False


def control_socket(node_name: str) -> Path:
    """Return the path of a node's control socket, whether or not the node runs."""
    return runtime_dir() / f"{node_name}.sock"


def web_socket(control: Path) -> Path:
    """Return the path of the socket that pybroker-web asks a node on, beside the control socket."""
    return control.with_suffix(".web")


def socket_folders() -> list[Path]:
    """Return the folders where control sockets are, unless a node was given another, this user's first."""
    return list(dict.fromkeys((runtime_dir(), SYSTEM_RUNTIME_DIR)))


def running_sockets() -> list[Path]:
    """Return the control sockets on which a node answers here, this user's first; a dead node's leftover is not one.

    A socket that we may not connect to counts: the caller can then say so.
    """
    found: list[Path] = []
    for folder in socket_folders():
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            continue
        found += [entry for entry in entries if entry.suffix == ".sock" and _listens(entry)]
    return found


def _listens(path: Path) -> bool:
    try:
        if not stat.S_ISSOCK(path.stat().st_mode):
            return False
        with socket.socket(socket.AF_UNIX) as trial:
            trial.connect(str(path))
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _folder(variable: str, of_root: str, of_user: str) -> Path:
    """Return the folder from systemd's variable, else root's, else platformdirs' function `of_user`."""
    given = os.environ.get(variable)
    if given:
        # systemd joins several folders by colons (systemd.exec(5)); ours names one.
        return Path(given.partition(":")[0])
    if os.geteuid() == 0:
        return Path(of_root)
    import warnings  # noqa: PLC0415 - what root's pybrokerctl does not pay

    import platformdirs  # noqa: PLC0415 - likewise, 10 ms

    with warnings.catch_warnings():
        # Without XDG_RUNTIME_DIR it takes a folder in /tmp and says so; the daemon looks at who made that folder.
        warnings.simplefilter("ignore")
        folder: Path = getattr(platformdirs, of_user)(NAME, appauthor=False)
    return folder

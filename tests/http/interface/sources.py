"""The files of the web interface as texts, and what can be read off them without a browser."""

import re
from pathlib import Path

import pybroker.http

FOLDER = Path(pybroker.http.__file__).parent / "static"
FILES = {path.relative_to(FOLDER).as_posix(): path for path in sorted(FOLDER.rglob("*")) if path.is_file()}
SCRIPTS = {name: path.read_text() for name, path in FILES.items() if path.suffix == ".js"}
STYLE = (FOLDER / "style.css").read_text()

# A request: the function that sends it, and its path, in a template or in quotes.
_REQUEST = re.compile(r"\b(get|put|post|remove|stream)\(\s*(?:withQuery\()?(?:path`|\")(/api/[^`\"]*)")
_PATH = re.compile(r"(?:path`|\")(/api/[^`\"]*)")
METHODS = {"get": "GET", "put": "PUT", "post": "POST", "remove": "DELETE", "stream": "POST"}


def asked_for() -> set[tuple[str, str]]:
    """Return the routes that the pages ask for: a method, or `*`, and the path with `x` for each name."""
    found = set()
    for text in SCRIPTS.values():
        found |= {(METHODS[function], _filled(path)) for function, path in _REQUEST.findall(text)}
        found |= {("*", _filled(path)) for path in _PATH.findall(text)}
    return found


def _filled(path: str) -> str:
    return re.sub(r"\$\{[^}]*\}", "x", path)


def pages() -> dict[str, str | None]:
    """Return the pages of the navigation, each with the page about one of its nouns, if there is one."""
    table = SCRIPTS["pages/index.js"]
    return {name: one or None for name, one in re.findall(r'\{\s*id: "(\w+)",(?:\s*one: "(\w+)",)?\s*label', table)}


def colours() -> dict[str, tuple[str, str]]:
    """Return the colours by name, each for light and for dark."""
    return {name: (light, dark) for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)", STYLE)}

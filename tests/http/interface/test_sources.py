"""Rules that the files of the interface keep, checked without a browser."""

import posixpath
import re

import pytest

from pybroker.http.routes import ROUTES
from tests.http.interface.sources import FILES, FOLDER, SCRIPTS, STYLE, asked_for, colours, pages

OCTETS_MAX = 200 * 1024
# Each would make elements or code of text, or take the page elsewhere.
FORBIDDEN = (
    r"\b(inner|outer)HTML\b",
    r"\binsertAdjacentHTML\b",
    r"\bdocument\.write",
    r"\beval\s*\(",
    r"\bnew Function\b",
    r"\bsrcdoc\b",
    r"\bDOMParser\b",
    r"\bcreateContextualFragment\b",
    r"setAttribute\(\s*[\"']on",
    r"\bsessionStorage\b",
    r"\bdocument\.cookie\b",
    r"javascript:",
)
# Names of XML, which nobody asks for.
NAMESPACES = ("http://www.w3.org/2000/svg",)


def listed(names: str) -> list[str]:
    return names.replace(",", " ").split()


def imports(text: str) -> list[str]:
    return listed(",".join(re.findall(r"^import \{([^}]*)\}", text, re.MULTILINE)))


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_no_script_makes_elements_of_text(name):
    found = [pattern for pattern in FORBIDDEN if re.search(pattern, SCRIPTS[name])]
    assert found == []


@pytest.mark.parametrize("name", sorted(FILES))
def test_no_file_names_another_place(name):
    text = FILES[name].read_text()
    for known in NAMESPACES:
        text = text.replace(known, "")
    assert re.findall(r"(?:https?:)?//[\w-]+\.[\w.-]+|\bwss?://|@import|url\(", text) == []


def test_the_browser_keeps_the_choice_of_colours_alone():
    # RabbitMQ's advisories CVE-2026-67236, CVE-2017-4966: the browser kept the password.
    kept = {key for text in SCRIPTS.values() for key in re.findall(r"localStorage\.\w+\(([^,)]*)", text)}
    assert kept == {'"theme"'}


def test_the_index_has_no_code_and_no_style_of_its_own():
    text = (FOLDER / "index.html").read_text()
    assert re.findall(r"\son\w+=|\sstyle=|<style|<script(?![^>]*\ssrc=)", text) == []


def test_all_files_together_are_small():
    assert sum(path.stat().st_size for path in FILES.values()) < OCTETS_MAX


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_imports_lead_to_files_and_names_that_there_are(name):
    missing = []
    for names, place in re.findall(r'^import \{([^}]*)\} from "([^"]+)"', SCRIPTS[name], re.MULTILINE):
        file = posixpath.normpath(posixpath.join(posixpath.dirname(name), place))
        exported = re.findall(
            r"^export (?:async )?(?:const|function\*?|class) (\w+)", SCRIPTS.get(file, ""), re.MULTILINE
        )
        missing += [f"{wanted} of {place}" for wanted in listed(names) if wanted not in exported]
    assert missing == []


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_what_is_imported_is_used(name):
    text = re.sub(r"^import \{[^}]*\}", "", SCRIPTS[name], flags=re.MULTILINE)
    assert [each for each in imports(SCRIPTS[name]) if not re.search(rf"\b{each}\b", text)] == []


def test_what_is_exported_is_imported_somewhere():
    # The pages' own name is what pages/index.js takes of each.
    used = {"page"}
    for text in SCRIPTS.values():
        used.update(imports(text))
    exported = {
        f"{name}: {each}"
        for name, text in SCRIPTS.items()
        for each in re.findall(r"^export (?:async )?(?:const|function\*?|class) (\w+)", text, re.MULTILINE)
        if each not in used
    }
    assert exported == set()


def test_every_page_of_the_navigation_has_a_file():
    names = [name for id_, one in pages().items() for name in (id_, one) if name]
    assert [name for name in names if f"pages/{name}.js" not in SCRIPTS] == []
    assert len(names) > 5


def test_every_route_that_a_page_asks_for_exists():
    known = [(route.method, re.sub(r"<[^>]+>", "[^/]+", route.path)) for route in ROUTES]
    missing = {
        f"{method} {path}"
        for method, path in asked_for()
        if not any(method in {"*", other} and re.fullmatch(pattern, path) for other, pattern in known)
    }
    assert missing == set()


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


# Text, and all that it stands on.
TEXTS = {
    "text": ("page", "surface", "raised", "accent-back", "warn-back", "bad-back"),
    "quiet": ("page", "surface", "raised", "accent-back", "warn-back", "bad-back"),
    "accent": ("page", "surface", "raised", "accent-back", "warn-back", "bad-back"),
    "ok": ("surface", "raised"),
    "warn": ("surface", "raised", "warn-back"),
    "bad": ("surface", "raised", "bad-back", "accent-back"),
    "on-accent": ("accent",),
    "on-bad": ("bad",),
}
SHAPES = (*(f"s{i}" for i in range(7)), "strong-line")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_and_lines_stand_out(scheme):
    found = {name: pair[scheme == "dark"] for name, pair in colours().items()}
    faint = [f"{a} on {b}: {c:.2f}" for a, bs in TEXTS.items() for b in bs if (c := contrast(found[a], found[b])) < 4.5]
    faint += [f"{a}: {c:.2f}" for a in SHAPES if (c := contrast(found[a], found["surface"])) < 3]
    assert faint == []


def test_colours_are_in_one_place():
    rules = STYLE.partition("\n}\n")[2]
    assert re.findall(r"#[0-9a-f]{6}\b|#[0-9a-f]{3}\b", rules) == []

"""Samples of what rabbitmqctl answers, and excuses for where pybrokerctl's answer differs (samples/README.md).

Knows patterns, lines and keys; it runs nothing.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

FOLDER = Path(__file__).with_name("samples")
EXCUSES = "excuses.toml"
PLACES = {
    "int": r"\d+",
    "num": r"-?\d+(?:\.\d+)?",
    "version": r"\d+\.\d+\.\d+",
    "time": r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}\+00:00",
    "name": r"[\w.]+",
    "any": r"[^\n]+",
    "rest": r"[^\n]*",
}
# How a table's lines are drawn: what stands for +, - and |.
DEC = str.maketrans("lqwktnumvjx", "+-++++++++|")
UTF8 = str.maketrans("┌─┬┐├┼┤└┴┘│", "+-++++++++|")


@dataclass(frozen=True)
class Sample:
    """The result of one command line. `rows` come after `out` in any order; `drawing` is that of a table's lines."""

    name: str
    run: str
    exit: int = 0
    out: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    err: tuple[str, ...] = ()
    err_rows: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    drawing: str = ""
    ruled: bool = False


@dataclass(frozen=True)
class Excuse:
    """A difference and its reason: other facts, lines or keys that are missing or added, or a refusal."""

    samples: tuple[str, ...]
    reason: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    refused: str = ""

    def items(self) -> list[tuple[str, str]]:
        """Return what it claims, one by one: (kind, which)."""
        claims = [("fact", name) for name in self.facts]
        claims += [("missing", one) for one in self.missing] + [("added", one) for one in self.added]
        return claims + [("refused", self.refused)] * bool(self.refused)

    def without(self, kind: str, which: str) -> Self:
        """Return it with one claim less."""
        match kind:
            case "fact":
                return replace(self, facts={name: fact for name, fact in self.facts.items() if name != which})
            case "refused":
                return replace(self, refused="")
        return replace(self, **{kind: tuple(one for one in getattr(self, kind) if one != which)})


@dataclass(frozen=True)
class Answer:
    """The result of pybrokerctl, and the values of $node and $port in it."""

    code: int
    out: str
    err: str
    places: Mapping[str, str]


def load_samples() -> dict[str, Sample]:
    """Return all samples by name; `@name` in err stands for the out and rows of that sample."""
    found: dict[str, Any] = {}
    for path in sorted(FOLDER.glob("*.toml")):
        if path.name != EXCUSES:
            found |= tomllib.loads(path.read_text())
    samples = {}
    for name, facts in found.items():
        facts.pop("tool", None)
        for line in list(facts.get("err", ())):
            if line.startswith("@"):
                other = found[line[1:]]
                at = facts["err"].index(line)
                facts["err"][at : at + 1] = other["out"]
                facts["err_rows"] = other["rows"]
        samples[name] = Sample(name, **{key: tuple(v) if isinstance(v, list) else v for key, v in facts.items()})
    return samples


def load_excuses() -> list[Excuse]:
    """Return the table of excuses."""
    excuses = []
    for entry in tomllib.loads((FOLDER / EXCUSES).read_text())["excuse"]:
        known = {
            name: entry.pop(name) for name in ("samples", "reason", "missing", "added", "refused") if name in entry
        }
        lists = {name: tuple(one) if isinstance(one, list) else one for name, one in known.items()}
        facts = {name: tuple(one) if isinstance(one, list) else one for name, one in entry.items()}
        excuses.append(Excuse(facts=facts, **lists))
    return excuses


def differences(sample: Sample, excuses: Sequence[Excuse], answer: Answer) -> list[str]:
    """Return where the answer is neither what the sample says nor what the excuses say."""
    refusals = [one.refused for one in excuses if one.refused]
    if refusals:
        return _refusal_differences(refusals[0], sample, answer)
    for excuse in excuses:
        sample = replace(sample, **excuse.facts)
    missing = {one for excuse in excuses for one in excuse.missing}
    added = {one for excuse in excuses for one in excuse.added}
    found = [] if answer.code == sample.exit else [f"exit {answer.code}, not {sample.exit}"]
    additions = [_regex(one, answer.places) for one in added]
    if sample.keys:
        found += _key_differences(sample, answer, missing, added)
    else:
        lines, drawing = _lines(answer.out, ruled=sample.ruled)
        if drawing != sample.drawing:
            found.append(f"drawn in {drawing or 'no'} lines, not in {sample.drawing or 'any'}")
        found += _line_differences("stdout", lines, sample.out, sample.rows, missing, additions, answer.places)
    lines, _ = _lines(answer.err)
    return found + _line_differences("stderr", lines, sample.err, sample.err_rows, missing, additions, answer.places)


def _refusal_differences(text: str, sample: Sample, answer: Answer) -> list[str]:
    """Compare with a usage error whose first line is `text`; `$command` in it is the first word of the command line."""
    first = next(iter(_lines(answer.err)[0]), "")
    wanted = text.replace("$command", sample.run.split()[0])
    if answer.code == 64 and not answer.out and re.fullmatch(_regex(wanted, answer.places), first):
        return []
    return [f"exit {answer.code} and {first!r}, not the refusal {wanted!r}"]


def _key_differences(sample: Sample, answer: Answer, missing: set[str], added: set[str]) -> list[str]:
    try:
        document = json.loads(answer.out)
    except ValueError as error:
        return [f"no JSON: {error}"]
    ours = {key.replace(answer.places["node"], "$node") for key in key_paths(document)}
    ours -= added
    wanted = set(sample.keys) - missing
    return [f"key missing: {key}" for key in sorted(wanted - ours)] + [
        f"key added: {key}" for key in sorted(ours - wanted)
    ]


def key_paths(value: Any, path: str = "") -> Iterable[str]:
    """Yield `path kind` of a JSON value and of all it holds, `[]` for any place in a list."""
    kinds = {dict: "object", list: "list", bool: "boolean", int: "number", float: "number", str: "string"}
    yield f"{path or '.'} {kinds.get(type(value), 'null')}"
    if isinstance(value, dict):
        for key, one in value.items():
            yield from key_paths(one, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for one in value:
            yield from key_paths(one, f"{path}[]")


def _lines(text: str, *, ruled: bool = False) -> tuple[list[str], str]:
    """Return the lines that are not blank, with a table's lines drawn in + - |, and how they were drawn."""
    drawing = "utf8" if "┌" in text else "dec" if "\x1b(0" in text else "ascii" if "\n+--" in text else ""
    if drawing == "dec":
        text = re.sub(r"\x1b\(0(.*?)\x1b\(B", lambda found: found[1].translate(DEC), text)
    lines = [line.removeprefix(",") for line in text.translate(UTF8).splitlines() if line.strip()]
    if ruled:
        # A rule stands between every two rows: those after the header's tell nothing more.
        rules = [at for at, line in enumerate(lines) if line.startswith("+--")]
        lines = [line for at, line in enumerate(lines) if at not in rules[2:]]
    return lines, drawing


def _line_differences(
    stream: str,
    lines: list[str],
    ordered: Sequence[str],
    rows: Sequence[str],
    missing: set[str],
    added: Sequence[str],
    places: Mapping[str, str],
) -> list[str]:
    wanted = [one for one in ordered if one not in missing]
    wanted_rows = [one for one in rows if one not in missing]
    left = [line for line in lines if not any(re.fullmatch(one, line) for one in added)]
    head = re.compile("".join(_regex_many(one, places) for one in wanted))
    splits = [len(left)] if not rows else range(len(left) + 1)
    for split in splits:
        if head.fullmatch("".join(f"{line}\n" for line in left[:split])) and (
            not rows or _same_rows(left[split:], [_regex(one, places) for one in wanted_rows])
        ):
            return []
    told = "\n      ".join([*wanted, *sorted(wanted_rows)])
    ours = "\n      ".join([*left[: len(wanted)], *sorted(left[len(wanted) :])] if rows else left)
    return [f"{stream} should be\n      {told}\n    and is\n      {ours}"]


def _same_rows(lines: Sequence[str], patterns: list[str]) -> bool:
    """Tell whether each line has a pattern of its own and none is left over."""
    patterns = list(patterns)
    for line in lines:
        found = next((one for one in patterns if re.fullmatch(one, line)), None)
        if found is None:
            return False
        patterns.remove(found)
    return not patterns


def _regex_many(pattern: str, places: Mapping[str, str]) -> str:
    """Return the expression for one pattern with its line's end; one that begins with `* ` may match many lines."""
    if pattern.startswith("* "):
        return rf"(?:{_regex(pattern[2:], places)}\n)*"
    return _regex(pattern, places) + r"\n"


def _regex(pattern: str, places: Mapping[str, str]) -> str:
    """Return a pattern's expression: $names stand for what PLACES and `places` say, all else for itself."""
    known = {**PLACES, **{name: re.escape(value) for name, value in places.items()}}
    parts = re.split(r"\$([a-z]+)", pattern)
    return "".join(known[part] if at % 2 else re.escape(part) for at, part in enumerate(parts))

"""Writes python/gordon/reports: the types of what the core reports, from its JSON Schemas.

python scripts/build/results.py           write them
python scripts/build/results.py --check   fail if they are not up to date
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from keyword import iskeyword
from pathlib import Path
from typing import Any

from gordon import _core
from reference import plain

FOLDER = Path(__file__).resolve().parents[2] / "python/gordon/reports"
#: The kinds of reports in each file, and what the file is of.
FILES = {
    "survey": (
        "surveys",
        (
            *("paper-survey", "job-survey", "tasks-survey", "service-survey"),
            *("paper-mean", "job-mean"),
            *("doubts-report", "ranking-report"),
        ),
    ),
    "devices": (
        "runs on simulated devices",
        ("flash-run", "disk-run", "wa-report", "replicas-report"),
    ),
    "cache": (
        "caches under a trace",
        ("cache-report", "curve-report", "flash-cache-report", "tiered-report"),
    ),
    "objects": (
        "caches of objects",
        (
            *("object-cache-stats", "object-cache-recovery", "object-cache-checked"),
            *("serve-stats", "warmed"),
        ),
    ),
    "storage": (
        "bandwidth",
        ("measured-storage", "simulated-storage", "target-description", "measured-times"),
    ),
    "block": (
        "images and served devices",
        (
            "created",
            "ready",
            "block-status",
            "check-report",
            "repair-report",
            "export-report",
            "wear",
        ),
    ),
    "sort": ("sorts and the files of their benchmark", ("sort-report", "generated", "validated")),
    "trace": (
        "traces",
        (
            "trace-summary",
            "capture-outcome",
            "capture-report",
            "format-row",
            "conversion-report",
            "activity-report",
            "anonymise-report",
        ),
    ),
    "spark": (
        "event logs of Spark",
        ("event-log-summary", "recorded-stages", "network-estimate"),
    ),
    "workload": ("generated data", ("web-report", "corpus-manifest")),
    "plan": ("plans of jobs", ("plan-report",)),
}
#: Kinds to which the package adds keys. The types of the others are final, so that mypy can tell
#: them apart by their keys.
EXTENDED = (
    "flash-cache-report",
    "sort-report",
    "generated",
    "validated",
    "measured-storage",
    "simulated-storage",
    "replicas-report",
    "trace-summary",
    "web-report",
    "corpus-manifest",
    "plan-report",
)
#: The file of the types that several others use.
SHARED = "shared"
WIDTH = 100
PLAIN = {"string": "str", "number": "float", "integer": "int", "boolean": "bool", "null": "None"}


def camel(name: str) -> str:
    """`paper-survey` and `paper_survey` as `PaperSurvey`."""
    return "".join(word[:1].upper() + word[1:] for word in name.replace("-", "_").split("_"))


def commented(text: str, indent: str = "") -> str:
    """The first paragraph of a description as a comment."""
    line = plain(text.partition("\n\n")[0])
    lines = textwrap.wrap(line, WIDTH - len(indent) - 3, break_long_words=False)
    return "".join(f"{indent}#: {each}\n" for each in lines)


class Types:
    """The types of schemas, by name, as source text; a type is after those that it uses."""

    def __init__(self, kinds: tuple[str, ...]) -> None:
        self.texts: dict[str, str] = {}
        self.definitions: dict[str, Any] = {}
        self.uses: dict[str, set[str]] = {}
        self._users: list[str] = []
        self._variants: set[str] = set()
        for kind in kinds:
            schema = json.loads(_core.report_schema(kind))
            self.definitions = schema.get("$defs", {})
            self._define(camel(kind), schema)
        for name in {camel(kind) for kind in kinds if kind not in EXTENDED} | self._variants:
            at = f"class {name}("
            self.texts[name] = self.texts[name].replace(at, f"@final\n{at}")

    def _define(self, name: str, schema: dict[str, Any]) -> None:
        """Adds a type of this name. Two types of one name have to be equal."""
        self._users.append(name)
        self.uses.setdefault(name, set())
        if "properties" in schema:
            text = self._class(name, self._flat(schema))
        else:
            text = self._alias(name, schema)
        self._users.pop()
        if self.texts.setdefault(name, text) != text:
            sys.exit(f"error: two reports have different types {name}: rename one in Rust")

    def _flat(self, schema: dict[str, Any]) -> dict[str, Any]:
        """A table with the keys of all its variants; a key that not all of them have may be left
        out."""
        variants = schema.get("anyOf", schema.get("oneOf", []))
        if not variants:
            return schema
        fields = dict(schema["properties"])
        always: list[set[str]] = []
        for one in variants:
            # A variant may have a tag next to the table that it refers to.
            named = self.definitions[one["$ref"].rsplit("/", 1)[1]] if "$ref" in one else {}
            always.append({*named.get("required", []), *one.get("required", [])})
            for key, field in (named.get("properties", {}) | one.get("properties", {})).items():
                known = fields.setdefault(key, field)
                if known != field:
                    fields[key] = {"anyOf": [*known.get("anyOf", [known]), field]}
        needed = sorted(set.intersection(*always))
        return schema | {
            "properties": fields,
            "required": [*schema.get("required", []), *needed],
        }

    def _class(self, name: str, schema: dict[str, Any]) -> str:
        """A table with known keys."""
        needed = schema.get("required", [])
        words: dict[str, str] = {}
        lines = [""]
        about = plain(schema.get("description", "").partition("\n\n")[0])
        if about:
            wrapped = textwrap.wrap(about, WIDTH - 10, break_long_words=False)
            lines.append(f'    """{wrapped[0]}')
            lines += [f"\n    {line}" for line in wrapped[1:]]
            lines.append('\n    """\n\n' if len(wrapped) > 1 else '"""\n\n')
        for key, field in schema["properties"].items():
            value = self._value(field, name + camel(key))
            # A key that may be left out is left out instead of null.
            value = value if key in needed else f"NotRequired[{value.removesuffix(' | None')}]"
            if iskeyword(key):
                words[key] = value
                continue
            lines.append(
                commented(field.get("description", "") if field is not True else "", "    ")
            )
            lines.append(f"    {key}: {value}\n")
        base = f"_{name}" if words else "TypedDict"
        lines[0] = f"class {name}({base}):\n"
        if words:
            # A class cannot have keys that are words of Python.
            keys = ", ".join(f'"{key}": {value}' for key, value in words.items())
            lines.insert(0, f'_{name} = TypedDict("_{name}", {{{keys}}})\n\n\n')
        return "".join(lines)

    def _alias(self, name: str, schema: dict[str, Any]) -> str:
        """A value that is not a table, such as one of several words."""
        bare = {key: value for key, value in schema.items() if key != "description"}
        return commented(schema.get("description", "")) + f"{name} = {self._value(bare, name)}\n"

    def _value(self, schema: dict[str, Any] | bool, name: str) -> str:
        """The type of a value; `name` is that of a table in its place."""
        if schema is True or not isinstance(schema, dict):
            return "Any"
        if "$ref" in schema:
            return self._named(schema["$ref"].rsplit("/", 1)[1])
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self._union(schema[key], name)
        if "const" in schema:
            return f"Literal[{json.dumps(schema['const'])}]"
        if "enum" in schema:
            return self._words(schema["enum"])
        if "properties" in schema:
            self._define(name, schema)
            self.uses[self._users[-1]].add(name)
            return name
        kinds = schema.get("type")
        if kinds is None:
            return "Any"
        kinds = [kinds] if isinstance(kinds, str) else kinds
        return " | ".join(self._one(kind, schema, name) for kind in kinds)

    def _one(self, kind: str, schema: dict[str, Any], name: str) -> str:
        """The type of a value of one kind of JSON."""
        if kind == "array":
            items = schema.get("prefixItems") or [schema.get("items", True)]
            inner = {self._value(item, name): None for item in items}
            return f"list[{' | '.join(inner)}]"
        if kind == "object":
            patterns = list(schema.get("patternProperties", {}).values())
            value = patterns[0] if patterns else schema.get("additionalProperties", True)
            return f"dict[str, {self._value(value, name)}]"
        return PLAIN[kind]

    def _union(self, choices: list[dict[str, Any]], name: str) -> str:
        """One of several types; words become one Literal."""
        words = [word for choice in choices for word in _words(choice)]
        found = {self._words(words): None} if words else {}
        for choice in choices:
            if not _words(choice):
                inner = name + camel(_variant(choice))
                if inner == self._users[-1]:
                    inner += "Table"
                found[self._value(choice, inner)] = None
                if inner in self.texts and inner != name:
                    self._variants.add(inner)
        return " | ".join(found)

    def _words(self, words: list[Any]) -> str:
        return f"Literal[{', '.join(json.dumps(word) for word in words if word is not None)}]" + (
            " | None" if None in words else ""
        )

    def _named(self, name: str) -> str:
        """A type of the definitions of the schema."""
        own = camel(name)
        if own not in self._users:
            self._define(own, self.definitions[name])
        self.uses[self._users[-1]].add(own)
        return own


def _variant(choice: dict[str, Any]) -> str:
    """The name of a variant with data: the value of its tag, or the only key of its table."""
    fields = choice.get("properties", {})
    tags = [field["const"] for field in fields.values() if "const" in field]
    names = tags or (list(fields) if len(fields) == 1 else [])
    return str(names[0]) if names else ""


def _words(choice: dict[str, Any]) -> list[str]:
    """The words of a choice without data."""
    if "const" in choice:
        return [choice["const"]]
    return list(choice.get("enum", []))


def sources() -> Iterator[tuple[str, str]]:
    """The name and the text of each file."""
    made = {file: Types(kinds) for file, (_, kinds) in FILES.items()}
    shared = _shared(list(made.values()))
    yield SHARED, source("several engines", list(shared.values()), set())
    for file, (about, _) in FILES.items():
        types = made[file]
        own = [name for name in types.texts if name not in shared]
        used = set().union(*(types.uses[name] for name in own)) & shared.keys()
        yield file, source(about, [types.texts[name] for name in own], used)


def _shared(made: list[Types]) -> dict[str, str]:
    """The types that are the same in several files, with those that they use, in their order."""
    counts = Counter(name for types in made for name in types.texts)
    found = {
        name: types.texts[name]
        for types in made
        for name in types.texts
        if counts[name] > 1
        and all(other.texts.get(name, types.texts[name]) == types.texts[name] for other in made)
    }
    for types in made:
        for name in found.keys() & types.uses.keys():
            if not types.uses[name] <= found.keys():
                sys.exit(f"error: {name} is in several files, and a type that it uses is not")
    return found


def source(about: str, texts: list[str], used: set[str]) -> str:
    """The text of a file."""
    head = "# Generated by `scripts/build/results.py`; do not edit.\n"
    head += f'"""Types of reports of the core: {about}."""\n\n'
    head += "from typing import Any, Literal, NotRequired, TypedDict, final\n\n"
    if used:
        head += f"from gordon.reports.{SHARED} import {', '.join(sorted(used))}\n\n"
    # Without the imports that no type of this file needs.
    text = ruff("check", "--fix", "--quiet", "--select", "F401,I", text=head + "\n\n".join(texts))
    return ruff("format", text=text)


def ruff(*command: str, text: str, suffix: str = ".py") -> str:
    """Passes the text of a file through ruff."""
    named = ["--stdin-filename", str(FOLDER / f"made{suffix}"), "-"]
    ran = subprocess.run(
        [sys.executable, "-m", "ruff", *command, *named],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout


def main() -> None:
    for name, text in sources():
        path = FOLDER / f"{name}.py"
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit(f"error: {path.name} of gordon.reports is out of date\n  try: make results")


if __name__ == "__main__":
    main()

"""Overrides values of a config for one run, by the schema of its kind: `--set KEY=VALUE`, or the
keyword `set={"KEY": VALUE}`.

Keys are dotted paths (`power.die_idle`). Keys that the schema knows may be added. If the schema has
a source for the value, the source becomes `--set`. The core checks each value.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from math import isfinite
from typing import Any

from gordon import _core
from gordon.errors import GordonError
from gordon.options import Settings, schemas, several
from gordon.parts import unknown
from gordon.untyped import Config

WHY = "set for this run with --set"

Table = Config


def listed(given: Settings) -> list[str]:
    """Settings as texts KEY=VALUE. The keys of a table in a mapping follow its own, with a dot
    between. Raises GordonError for a value that no text gives."""
    if not isinstance(given, Mapping):
        return several(given)
    found = []
    for key, value in given.items():
        if isinstance(value, Mapping):
            found += [f"{key}.{setting}" for setting in listed(value)]
        else:
            found.append(f"{key}={_text(key, value)}")
    return found


def _text(key: str, value: Any) -> str:
    """The text that `_parse` reads as this value."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float | list | tuple):
        return json.dumps(value)
    raise GordonError(
        f"--set {key}: {value!r} is not a number, a text, a truth value or a list",
        f'set={{"{key}": 4}}, or a text such as "4KiB"',
        kind="bad-setting",
    )


def split(setting: str, example: str) -> tuple[str, str]:
    """The key and the text of the value of `KEY=VALUE`. Raises GordonError."""
    key, equals, text = setting.partition("=")
    if not equals or not key or not text:
        raise GordonError(f"--set {setting}: not KEY=VALUE", f"--set {example}", kind="bad-setting")
    return key, text


def change(
    kind: str,
    table: Table,
    path: str,
    text: str,
    key: str | None = None,
    items: str = "",
    resolve: Callable[[list[Table]], None] | None = None,
) -> None:
    """Sets the value at a path of a table of a kind, in place. `key` is its name in errors, by
    default the path. `items`: the table is an element of the list at this key of the kind, and
    `resolve` changes such a list to what the core reads. Raises GordonError for an unknown path, a
    path of a table, and a value that the core refuses."""
    key, changed = key or path, table
    known, schema = schemas.root(kind, items), schemas.of(kind)
    *folders, leaf = path.split(".")
    for folder in folders:
        if isinstance(table, list):
            table = _choice(key, table, folder)
            continue
        inner = schemas.inner(known.get(folder), schema)
        if inner is None:
            tables = [name for name in known if schemas.inner(known[name], schema) is not None]
            raise _unknown(schemas.paths(kind, items), key, "table", folder, tables, path)
        table, known = table.setdefault(folder, {}), inner
    if isinstance(table, list):
        raise _choice_needed(key, table)
    if leaf not in known:
        raise _unknown(schemas.paths(kind, items), key, "key", leaf, sorted(known), path)
    if schemas.inner(known[leaf], schema) is not None or _is_map(known[leaf], schema):
        raise not_a_value(key, path)
    new = _value(text, known[leaf], schema)
    if isinstance(new, float) and not isfinite(new):
        choices = _choices(known[leaf], schema)
        examples = [one for choice in choices for one in choice.get("examples", [])]
        raise GordonError(
            f"--set {key}={text}: not a finite number",
            f"--set {key}={examples[0] if examples else 1.5}",
            kind="not-finite",
        )
    table[leaf] = {"value": new, "assumed": WHY} if _has_address(known[leaf]) else new
    whole = changed
    if items:
        whole = {items: [deepcopy(changed)]}
        if resolve is not None:
            resolve(whole[items])
    error = _refused(kind, whole, f"{key}={text}")
    if error is not None:
        raise error


def _refused(kind: str, whole: Table, setting: str) -> GordonError | None:
    """The error of the core for the value of a setting; None if there is none. Keys that are still
    missing from the table are none of it."""
    try:
        _core.check_json(kind, json.dumps(whole))
    except GordonError as error:
        place, _, what = error.message.removeprefix(f"{kind}: ").partition(": ")
        what = what or place
        if what.startswith("missing field"):
            return None
        _, expected, rest = what.partition("expected ")
        said = expected + rest or what.removeprefix(f"`{setting.partition('=')[2]}`: ")
        return GordonError(f"--set {setting}: {said}", error.hint, kind=error.kind)
    return None


def _choice(key: str, choices: list[Table], number: str) -> Table:
    """The element of a list with this number, from 1."""
    if not number.isdecimal() or not 1 <= int(number) <= len(choices):
        raise _choice_needed(key, choices)
    return choices[int(number) - 1]


def _choice_needed(key: str, choices: list[Table]) -> GordonError:
    return GordonError(
        f"--set {key}: there is a list of {len(choices)}, and the key does not say which one",
        f"a number from 1 to {len(choices)} after the name of the list, as in storage.1.count=2",
        kind="no-choice",
    )


def not_a_value(key: str, path: str) -> GordonError:
    """The error for a setting of a whole table."""
    return GordonError(
        f"--set {key}: `{path}` is a table, not a value",
        "set its keys one by one, or write a file",
        kind="not-a-value",
    )


def _unknown(
    every: list[str], key: str, what: str, name: str, here: list[str], path: str
) -> GordonError:
    """No such name: the full paths that end like it where it stands alone, else the nearest."""
    error = unknown(what, name, here)
    full = [known for known in every if known.rpartition(".")[2] == path]
    hint = " or ".join(f"`{known}`" for known in full) or error.hint
    return GordonError(f"--set {key}: {error.message}", hint, kind=error.kind)


def _is_map(field: Table, schema: Table) -> bool:
    return bool(schemas.resolved(field, schema).get("additionalProperties"))


def _has_address(field: Table) -> bool:
    return "Sourced_" in json.dumps(field)


def _value(text: str, field: Table, schema: Table) -> Any:
    """The value of a field that a text gives. A number, a truth value or a list is a text where the
    field takes texts, but none of these; a quantity without its unit stays a number, which the core
    refuses."""
    parsed = _parse(text)
    if isinstance(parsed, str):
        return parsed
    choices = list(_choices(field, schema))
    if any(kind in _TYPES[type(parsed)] for choice in choices for kind in _types(choice)):
        return parsed
    takes_text = any("string" in _types(one) and "pattern" not in one for one in choices)
    return text if takes_text else parsed


#: The JSON types that a value may have.
_TYPES = {bool: ("boolean",), int: ("integer", "number"), float: ("number",), list: ("array",)}


def _choices(field: Table, schema: Table) -> Iterator[Table]:
    """The schemas of the plain values that a field may have."""
    if "$ref" in field:
        field = schema["$defs"][field["$ref"].rsplit("/", 1)[1]]
    inner = field.get("anyOf", []) + field.get("oneOf", [])
    if not inner:
        yield field
    for choice in inner:
        yield from _choices(choice, schema)


def _types(field: Table) -> list[str]:
    """The JSON types of a schema of a plain value."""
    kind = field.get("type", [])
    return kind if isinstance(kind, list) else [kind]


def _parse(text: str) -> Any:
    """A number, a truth value or a list where it reads as one, else text."""
    if text in ("true", "false"):
        return text == "true"
    for read in (int, float, _list):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _list(text: str) -> list[Any]:
    parsed = json.loads(text)
    if not isinstance(parsed, list):
        raise ValueError
    return parsed

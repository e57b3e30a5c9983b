"""The JSON Schema of the file of a sweep: for each command, the keys of its settings and ranges.

It is made of the options of the commands and the schemas of their devices, which also check the
file. Units and limits of values are left to these checks.
"""

from collections.abc import Callable

import click

from gordon import own
from gordon.options.command import ChoiceOrClass
from gordon.sweep import axes
from gordon.sweep.commands import COMMANDS, WITH_COMMAS, Command
from gordon.sweep.config import KEYS, WAYS
from gordon.untyped import Schema

_QUANTITY: Schema = {"type": ["string", "number"]}
_STEPS: Schema = {
    "type": "object",
    "description": "Values from `from` to `to`, each the one before plus `step` or times `factor`.",
    "properties": dict.fromkeys(axes.KEYS, _QUANTITY),
    "required": ["from", "to"],
    "oneOf": [{"required": ["step"]}, {"required": ["factor"]}],
    "additionalProperties": False,
}


def schema() -> Schema:
    """The JSON Schema of the file of a sweep."""
    properties: Schema = {
        "command": {"enum": list(COMMANDS), "description": "The command to run, without gordon."},
        "settings": {"type": "object", "description": "Values of all configurations."},
        "ranges": {
            "type": "object",
            "minProperties": 1,
            "description": "Lists, or { from, to, step } and { from, to, factor } of numbers or "
            "quantities. Every combination is a configuration.",
        },
        "sample": {
            "type": "integer",
            "minimum": 1,
            "description": "Number of combinations to run, drawn without replacement; default: "
            "all.",
        },
        "sample_seed": {
            "type": "integer",
            "minimum": 0,
            "description": "Random seed of the sample; default: 0.",
        },
        "objectives": {
            "type": "array",
            "items": {"type": "string", "pattern": f".:({'|'.join(WAYS)})$"},
            "minItems": 1,
            "uniqueItems": True,
            "description": "Names of results with :min or :max; default: those of the command.",
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Sweep",
        "description": "A command, its fixed settings, and ranges of its options and of the values "
        "of its device.",
        "type": "object",
        "properties": {name: properties[name] for name in KEYS},
        "required": ["command", "ranges"],
        "dependentRequired": {"sample_seed": ["sample"]},
        "additionalProperties": False,
        "allOf": [_of_command(command) for command in COMMANDS.values()],
        "$defs": {
            "value": {"type": ["string", "number", "boolean", "array"]},
            "range": _range(_defined("value")),
            "steps": _STEPS,
        },
    }


def _of_command(command: Command) -> Schema:
    return {
        "if": {"properties": {"command": {"const": command.name}}},
        "then": {
            "properties": {
                "settings": _keys(command, lambda value: value, "value"),
                "ranges": _keys(command, _range, "range"),
            }
        },
    }


def _keys(command: Command, allowed: Callable[[Schema], Schema], of_device: str) -> Schema:
    """A table with the keys of a command. Those of its device have the definition `of_device`."""
    table = _table()
    known = table["properties"]
    for path in command.device_keys:
        *outer, leaf = path.split(".")
        inner = table
        for name in outer:
            inner = inner["properties"].setdefault(name, _table())
        # TOML may quote a path: "ftl.victim" is then one key.
        inner["properties"][leaf] = known[path] = _defined(of_device)
    for name, option in command.options.items():
        value = allowed(_value(name, option))
        about = getattr(option, "help", None)
        value = ({"description": " ".join(about.split())} if about else {}) | value
        # An option may have the name of a table of the device.
        if known.get(name, {}).get("type") == "object":
            value = {"anyOf": [value, known[name]]}
        known[name] = known[name.replace("_", "-")] = value
    return table


def _table() -> Schema:
    return {"type": "object", "properties": {}, "additionalProperties": False}


def _value(name: str, option: click.Parameter) -> Schema:
    """The values of an option, as `commands` takes them."""
    if getattr(option, "is_flag", False):
        return {"type": "boolean"}
    one = _QUANTITY
    if isinstance(option.type, click.Choice):
        one = {"enum": list(option.type.choices)}
    if isinstance(option.type, ChoiceOrClass):
        one = {"anyOf": [one, {"type": "string", "pattern": own.PATTERN}]}
    if getattr(option, "multiple", False) or name in WITH_COMMAS:
        return {"anyOf": [one, {"type": "array", "items": one}]}
    return one


def _range(value: Schema) -> Schema:
    """A range of such values."""
    listed = {"type": "array", "items": value, "minItems": 1, "uniqueItems": True}
    return {"anyOf": [listed, _defined("steps")]}


def _defined(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}

"""Dictionaries whose keys mypy does not know, each for a reason.

The keys of a report are those of a TypedDict: `gordon.reports`, or one next to the function that
makes it.
"""

from typing import Any

Config = dict[str, Any]
"""The content of a file that a user writes, or a config of the core that is made of one: the core
or `gordon.tables` checks its keys."""

Given = dict[str, Any]
"""Options by name, as a user gave them: the function that they are given to checks them."""

Schema = dict[str, Any]
"""A JSON Schema, or a part of one."""

Spec = dict[str, Any]
"""A figure in plotly's format, or a part of one: plotly.js has no types for Python."""

Row = dict[str, Any]
"""A row of a table for other libraries: its columns are the values of a report, which differ."""

"""The types of what the core reports: a table is a TypedDict, so that mypy finds a misspelt key.

`scripts/build/results.py` writes the modules of this package from the JSON Schemas of the core's
reports (`crates/py/src/kinds.rs`).
"""

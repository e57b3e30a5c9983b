"""The modules of the Python package and their imports, those inside functions included."""

from __future__ import annotations

import ast
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

Graph = dict[str, set[str]]


def imports(package: Path) -> Graph:
    """The modules that each module of a package imports, by their dotted names."""
    files = {_name(file, package): file for file in sorted(package.rglob("*.py"))}
    found: Graph = {}
    for name, file in files.items():
        found[name] = set()
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                # `from package import module` imports a module, or a name of the package.
                full = [f"{node.module}.{alias.name}" for alias in node.names]
                used = [one if one in files else node.module for one in full]
            elif isinstance(node, ast.Import):
                used = [alias.name for alias in node.names]
            else:
                continue
            found[name] |= {one for one in used if one in files and one != name}
    return found


def _name(file: Path, package: Path) -> str:
    parts = file.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def of_parts(graph: Graph) -> Graph:
    """The imports between the direct parts of the package. The package itself has none."""
    found: Graph = defaultdict(set)
    for user, used in graph.items():
        part = _part(user)
        found[part] |= {_part(one) for one in used} - {part, ""}
    del found[""]
    return found


def _part(name: str) -> str:
    return ".".join(name.split(".")[1:2])


def circle(graph: Graph) -> str | None:
    """Modules that import each other in a circle; `None` if none do."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        ring = error.args[1][::-1]
        return "; ".join(f"{user} imports {used}" for user, used in pairwise(ring))
    return None

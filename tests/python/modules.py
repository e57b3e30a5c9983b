"""The modules of a crate and the uses between them, read from its source.

A module is named by its path in the crate, the root by `()`. A module uses another if it names it,
or an item of it, in a `use` declaration or in a path that starts with `crate`, `self` or `super`.
Imported and re-exported names are followed to the module that defines the item. Left out are test
modules, names behind a glob (`use x::*`), methods defined elsewhere, and what macros expand to.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

Names = tuple[str, ...]

#: A test module: a file of its own, or a block, which rustfmt ends at the indent of its start.
TEST = re.compile(r"^( *)#\[cfg\(test\)\]\n *(?:pub\S* )?mod (\w+)(?:;| \{.*?^\1\})", re.M | re.S)
USE = re.compile(r"\buse ([^;]+);")
PATH = re.compile(r"\b(?:crate|self|super)(?:::\w+)+")
#: A branch of a use tree, with up to two levels of braces inside.
BRANCH = re.compile(r"(?:[^,{}]|\{(?:[^{}]|\{[^{}]*\})*\})+")


def circle(crate: Path) -> str | None:
    """Sibling modules that use each other in a circle, and in which files; `None` if none do."""
    graph: dict[Names, dict[Names, set[str]]] = defaultdict(lambda: defaultdict(set))
    for user, used, file in _uses(crate / "src"):
        fork = next((n for n, (a, b) in enumerate(zip(user, used, strict=False)) if a != b), None)
        # A module and its ancestors may use each other.
        if fork is not None:
            graph[user[: fork + 1]][used[: fork + 1]].add(file)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        ring = error.args[1][::-1]
        steps = [(a, b, ", ".join(sorted(graph[a][b]))) for a, b in pairwise(ring)]
        return "; ".join(f"{'::'.join(a)} uses {'::'.join(b)} ({files})" for a, b, files in steps)
    return None


def _uses(root: Path) -> Iterator[tuple[Names, Names, str]]:
    """Each module, a module that it uses, and the file of the use."""
    files: dict[Names, str] = {}
    texts: dict[Names, str] = {}
    tests: set[Names] = set()
    for file in sorted(root.rglob("*.rs")):
        names = file.relative_to(root).with_suffix("").parts
        module = names[:-1] if names[-1] in ("lib", "mod") else names
        text = re.sub("//.*", "", file.read_text())
        files[module], texts[module] = str(file.relative_to(root)), TEST.sub("", text)
        tests |= {(*module, test[2]) for test in TEST.finditer(text)}
    modules = [m for m in files if not any(m[: len(test)] == test for test in tests)]
    trees = [(module, tree) for module in modules for tree in USE.findall(texts[module])]
    imports = [(module, *found) for module, tree in trees for found in _paths(tree)]
    named = {(module, name): path for module, path, name in imports if name != path[0]}

    def definer(module: Names, path: Names) -> Names:
        """The module that a path from a module leads to, without the item in it."""
        for at, name in enumerate(path):
            if name in ("crate", "super"):
                module = module[:-1] if name == "super" else ()
            elif (*module, name) in modules:
                module = (*module, name)
            elif (module, name) in named:
                return definer(module, named[module, name] + path[at + 1 :])
            elif name != "self":
                break
        return module

    for module, path, _ in imports:
        yield module, definer(module, path), files[module]
    for module in modules:
        for match in PATH.findall(USE.sub("", texts[module])):
            yield module, definer(module, tuple(match.split("::"))), files[module]


def _paths(tree: str) -> Iterator[tuple[Names, str]]:
    """Each path of a use tree, and the name that it imports."""
    start, brace, rest = re.sub(r"\s+", " ", tree).strip().partition("{")
    if brace:
        for branch in BRANCH.findall(rest.removesuffix("}")):
            yield from _paths(start + branch.strip())
    elif start:
        path, _, name = start.partition(" as ")
        names = tuple(path.removeprefix("self::").removesuffix("::self").split("::"))
        yield names, name or names[-1]

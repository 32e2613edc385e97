"""Imports go one way, from floor to floor, and in the open."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

FLOORS = {
    "core": 0, "models": 1, "store": 1, "indexer": 2, "retrieval": 3, "lifecycle": 4, "eval": 4,
    "service": 5, "shiyi": 6,
}  # fmt: skip

# Where something heavy is loaded when it is first needed, and why it stands in a function.
IMPORTS_IN_FUNCTIONS = {
    "shiyi.indexer.lexicon": {"jieba"},
    "shiyi.service.session": {
        "shiyi.indexer.indexes", "shiyi.models.cache", "shiyi.models.encoder",
        "shiyi.models.sentence", "shiyi.retrieval.standings", "shiyi.store.store",
    },
}  # fmt: skip


class Import(NamedTuple):
    """One imported module, and whether it stands in a function or under TYPE_CHECKING."""

    name: str
    in_function: bool
    for_types: bool


_READ: dict[Path, list[Import]] = {}


def test_imports_go_downwards(modules: dict[str, Path]) -> None:
    """A floor uses only what lies below it."""
    upward = [
        f"{name} imports {found.name}"
        for name, file in modules.items()
        for found in imports_of(file, modules)
        if found.name in modules and not allowed(name, found.name)
    ]

    assert upward == []


def test_there_are_no_cycles(modules: dict[str, Path]) -> None:
    """Every module can be read before those that use it."""
    graph = {
        name: {found.name for found in imports_of(file, modules) if is_edge(found, modules)}
        for name, file in modules.items()
    }

    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(" → ".join(error.args[1])) from None


def test_no_import_hides_in_a_function(modules: dict[str, Path]) -> None:
    """Only the front door and the listed modules import inside functions."""
    hidden = [
        f"{name} imports {found.name}"
        for name, file in modules.items()
        if floor_of(name) != "shiyi"
        for found in imports_of(file, modules)
        if found.in_function and found.name not in IMPORTS_IN_FUNCTIONS.get(name, set())
    ]

    assert hidden == []


def test_exceptions_are_still_needed(modules: dict[str, Path]) -> None:
    """What is listed as imported in a function really is."""
    found = {
        name: {one.name for one in imports_of(modules[name], modules) if one.in_function}
        for name in IMPORTS_IN_FUNCTIONS
    }

    assert found == IMPORTS_IN_FUNCTIONS


def is_edge(found: Import, modules: dict[str, Path]) -> bool:
    return found.name in modules and not found.for_types and not found.in_function


def allowed(importer: str, imported: str) -> bool:
    above, below = floor_of(importer), floor_of(imported)
    return above == below or FLOORS[below] < FLOORS[above]


def floor_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in FLOORS else "shiyi"


def imports_of(file: Path, modules: dict[str, Path]) -> list[Import]:
    if file not in _READ:
        tree = ast.parse(file.read_text("utf-8"))
        _READ[file] = list(_walk(tree, modules, in_function=False, for_types=False))
    return _READ[file]


def _walk(
    node: ast.AST, modules: dict[str, Path], *, in_function: bool, for_types: bool
) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(one.name, in_function, for_types) for one in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "imports are absolute"
            for one in child.names:
                full = f"{child.module}.{one.name}"
                name = full if full in modules else str(child.module)
                yield Import(name, in_function, for_types)
        else:
            yield from _walk(
                child,
                modules,
                in_function=in_function
                or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda),
                for_types=for_types or _is_type_checking(child),
            )


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"

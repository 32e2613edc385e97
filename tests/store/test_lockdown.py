"""No text can make the database touch anything but itself."""

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from shiyi.core.errors import HomeError
from shiyi.store import HeadFilter, Store
from shiyi.store.quoting import literal, quoted

SOURCES = Path(__file__).resolve().parents[2] / "store"
RUNNING = {"rows", "batches", "insert", "execute", "_execute", "extract_statements"}
STATEMENTS = (
    "SELECT * FROM read_csv('{secret}')",
    "SELECT * FROM read_csv_auto('{secret}')",
    "SELECT * FROM read_text('{secret}')",
    "SELECT * FROM read_blob('{secret}')",
    "SELECT * FROM read_json('{secret}')",
    "SELECT * FROM read_json_objects('{secret}')",
    "SELECT * FROM read_ndjson('{secret}')",
    "SELECT * FROM read_parquet('{secret}')",
    "SELECT * FROM parquet_metadata('{secret}')",
    "SELECT * FROM sniff_csv('{secret}')",
    "SELECT * FROM '{secret}'",
    "SELECT * FROM glob('{folder}/*')",
    "SELECT * FROM read_text('{home}/../secret.csv')",
    "SELECT * FROM read_csv('https://example.org/a.csv')",
    "SELECT * FROM 's3://bucket/a.parquet'",
    "SELECT getenv('HOME')",
    "COPY scopes TO '{folder}/out.csv'",
    "COPY (SELECT 1) TO '{folder}/out.parquet' (FORMAT parquet)",
    "COPY scopes FROM '{secret}'",
    "EXPORT DATABASE '{folder}/out'",
    "IMPORT DATABASE '{folder}'",
    "ATTACH '{folder}/other.duckdb' AS other",
    "ATTACH '{secret}' AS other (READ_ONLY)",
    "ATTACH '{folder}/other.sqlite' AS other (TYPE sqlite)",
    "CREATE SECRET leak (TYPE s3, KEY_ID 'a', SECRET 'b')",
    "CREATE PERSISTENT SECRET leak (TYPE http, BEARER_TOKEN 'b')",
    "INSTALL httpfs",
    "FORCE INSTALL fts FROM community",
    "LOAD httpfs",
    "LOAD '{folder}/evil.duckdb_extension'",
    "UPDATE EXTENSIONS",
    "SET enable_external_access = true",
    "SET GLOBAL lock_configuration = false",
    "RESET enable_external_access",
    "SET allowed_directories = ['/']",
    "SET temp_directory = '{folder}/spill'",
    "SET home_directory = '{folder}'",
    "SET autoload_known_extensions = true",
    "SET log_query_path = '{folder}/log'",
    "SET python_enable_replacements = true",
    "SET enable_progress_bar = true",
    "PRAGMA enable_profiling",
    "PRAGMA profiling_output = '{folder}/profile'",
    "PRAGMA memory_limit = '1KB'",
    "CALL enable_logging(storage = 'file', storage_path = '{folder}')",
    "SELECT * FROM secret_frame",
    "SELECT * FROM store",
)
secret_frame = {"a": np.arange(3)}  # what a statement could name, were it allowed to


@pytest.fixture(scope="module")
def one_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("folder")
    (folder / "secret.csv").write_text("a,b\n1,2\n")
    with Store(folder / "home", create=True) as store:
        yield store


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("door", ["rows", "batches"])
def test_no_statement_leaves_the_database(one_store: Store, statement: str, door: str) -> None:
    """Files, network, extensions, settings, secrets and Python variables are out of reach."""
    folder = one_store.home.parent
    before = sorted(path.name for path in folder.rglob("*"))
    query = statement.format(secret=folder / "secret.csv", folder=folder, home=one_store.home)
    database = one_store._database

    with pytest.raises(HomeError):
        list(database.rows(query) if door == "rows" else database.batches(query))

    assert sorted(path.name for path in folder.rglob("*")) == before
    assert one_store.write("me", lambda _: {"alive": True}) == {"alive": True}


def test_the_settings_that_lock_the_database_are_in_force(store: Store) -> None:
    """External access, extensions and Python names are off, and so is the progress bar."""
    names = ["enable_external_access", "autoload_known_extensions", "autoinstall_known_extensions",
             "python_enable_replacements", "enable_progress_bar", "lock_configuration"]  # fmt: skip
    query = "SELECT name, value FROM duckdb_settings() WHERE list_contains(?, name)"
    database = store._database

    expected = {**dict.fromkeys(names, "false"), "lock_configuration": "true"}
    assert dict(database.rows(query, [names])) == expected
    assert dict(next(database.batches(query, [names]))) == expected


@pytest.mark.parametrize(
    "hostile", ["'; DROP TABLE captures; --", '" OR 1=1', "me' OR '1'='1", "$1"]
)
def test_a_value_is_never_a_statement(store: Store, hostile: str) -> None:
    """A value in any place of a read is only looked for."""
    assert store.capture(hostile, hostile) is None
    assert store.captures(hostile, [hostile] * 3) == {}
    assert store.capture_hashes(hostile, [hostile]) == {}
    assert store.last_of_session(hostile, hostile) is None
    assert store.versions(hostile, hostile) == []
    assert store.versions_of(hostile, [hostile]) == {}
    wanted = HeadFilter(kinds=(hostile,), topics=(hostile,))
    assert store.find_heads(hostile, wanted, limit=1, after=hostile) == []
    assert store.page_captures(hostile, limit=1, after=hostile) == []
    assert store.links_from(hostile, [hostile]) == {}
    assert store.links_to(hostile, [hostile]) == {}
    assert list(store.iterate_captures(hostile)) == []
    assert list(store.iterate_heads(hostile)) == []
    assert store.changes_since(hostile, 0) == []
    assert sum(store.counts(hostile).values()) == 0


def constants(tree: ast.Module) -> set[str]:
    """Return the module's names in capitals that are bound once, to a string or f-string."""
    return {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.JoinedStr)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id.isupper()
    }


HELPERS = {"quoted", "unnested", "literal"}  # of store/quoting.py; what they return is inert


def is_quoted(node: ast.expr) -> bool:
    """Tell whether a value is what a helper of store/quoting.py returned."""
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in HELPERS
    )


def is_fixed(node: ast.expr, known: set[str], inert: set[str]) -> bool:
    """Tell whether a query is a literal, a constant, an inert name, or made of nothing else."""
    if isinstance(node, ast.JoinedStr):
        parts = (part.value for part in node.values if isinstance(part, ast.FormattedValue))
        return all(is_quoted(part) or is_fixed(part, known, inert) for part in parts)
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.Name) and node.id in known | inert
    )


def assigned(function: ast.FunctionDef) -> list[tuple[str, ast.expr]]:
    """Return (name, value) of every assignment in a function, one for each name of a tuple."""
    found = []
    for node in (n for n in ast.walk(function) if isinstance(n, ast.Assign)):
        for target in node.targets:
            targets = target.elts if isinstance(target, ast.Tuple) else [target]
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            found += [
                (one.id, value)
                for one, value in zip(targets, values * len(targets), strict=False)
                if isinstance(one, ast.Name)
            ]
    return found


def inert_names(function: ast.FunctionDef, known: set[str]) -> set[str]:
    """Return the local names of which every value is a literal or made by the helpers."""
    values = assigned(function)
    inert: set[str] = set()
    for _ in values:  # one may be made of another
        inert = {
            name
            for name, _ in values
            if all(is_quoted(v) or is_fixed(v, known, inert) for n, v in values if n == name)
        }
    return inert


def imported(tree: ast.Module, everywhere: set[str]) -> set[str]:
    """Return the constants of other modules of the store that a module imports."""
    return {
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("shiyi.store")
        for alias in node.names
        if alias.asname is None and alias.name in everywhere
    }


def faults(source: str, everywhere: set[str]) -> tuple[list[int], int]:
    """Return the lines where a statement may hold a value, and how many statements there are."""
    tree, wrong, checked = ast.parse(source), list[int](), 0
    known = constants(tree) | imported(tree, everywhere)
    for node in (n for n in tree.body if isinstance(n, ast.Assign)):
        wrong += [
            part.lineno
            for part in ast.walk(node.value)
            if isinstance(part, ast.FormattedValue) and not is_fixed(part.value, known, set())
        ]
    for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
        passed_on = {"query", "statement"} & {a.arg for a in function.args.args}
        loops = {
            loop.target.id
            for loop in ast.walk(function)
            if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name)
            and ast.unparse(loop.iter) in {"_LOCKDOWN", "_DELETIONS", "migrations[number - 1]"}
        }  # fmt: skip
        inert = inert_names(function, known) | passed_on | loops
        if function.name == "_execute":
            inert.add("statement")  # what DuckDB made of the query that was passed on
        for call in (n for n in ast.walk(function) if isinstance(n, ast.Call)):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if name in RUNNING:
                query = call.args[1 if name == "_execute" else 0]
                checked += 1
                if not is_fixed(query, known, inert):
                    wrong.append(call.lineno)
    return wrong, checked


def test_no_statement_is_built_from_values() -> None:
    """A statement is made of literals, constants, and names that store/quoting.py has quoted."""
    sources = {path: path.read_text("utf-8") for path in SOURCES.rglob("*.py")}
    everywhere = set().union(*(constants(ast.parse(text)) for text in sources.values()))
    checked = 0
    for path, text in sources.items():
        wrong, found = faults(text, everywhere)
        assert wrong == [], f"{path.name}:{wrong}"
        checked += found
    assert checked > 20


@pytest.mark.parametrize(
    "line",
    [
        'rows(f"SELECT {name}")',
        "rows('SELECT ' + name)",
        'rows(f"SELECT {str(name)}")',
        'rows("SELECT {}".format(name))',
        'rows(f"SELECT {self.name}")',
        "rows(name)",
    ],
)
def test_a_built_statement_is_seen(line: str) -> None:
    """The test before this one fails for values in statements, also by way of a local name."""
    assert faults(f"def f(db, name):\n    db.{line}\n", set())[0] == [2]
    built = f"def f(db, name):\n    text = {line[5:-1]}\n    db.rows(text)\n"
    assert faults(built, set())[0] == [3]


@pytest.mark.parametrize("name", ["", "a b", 'a"b', "A", "a;--", "a\n", "表"])
def test_only_a_plain_name_is_quoted(name: str) -> None:
    with pytest.raises(ValueError, match="small letters"):
        quoted("fine", name)


def test_a_quote_in_a_text_ends_nothing(store: Store) -> None:
    hostile = "a'; DROP TABLE captures; --''\\'"
    (row,) = store._database.rows(f"SELECT {literal(hostile)}")
    assert row[0] == hostile

"""The queries that somebody wants to judge, as they wrote them down."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from shiyi.core.errors import NotFoundError, UsageError
from shiyi.core.text import check_text, decode_text
from shiyi.eval.dataset import Query
from shiyi.eval.readers.files import MAX_BYTES, too_long


def read_queries(path: Path) -> list[Query]:
    """Return the queries of a text file, one a line, or of JSON Lines with `text` and maybe `_id`.

    A query without an id gets one from its text, so that it keeps it when others are added; one
    that comes twice counts once. Raises UsageError for a line that is no query, NotFoundError
    when there is no such file.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise NotFoundError(f"The file {path} cannot be read: {error.strerror}.") from None
    if len(content) > MAX_BYTES:
        raise UsageError(f"{path}: {too_long()}")
    queries: dict[str, Query] = {}
    text = decode_text(content, "file of queries").removeprefix("\ufeff")
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            query = _read_query(line.strip(), number, as_json=path.suffix == ".jsonl")
            if queries.setdefault(query.id, query) != query:
                raise UsageError(f"Line {number} gives another text to an id that came before.")
    return list(queries.values())


def queries_of(texts: Iterable[str]) -> list[Query]:
    """Return a query for each text, once, with the id that a file of queries would give it."""
    return [Query(id=_id_of(text), text=text) for text in dict.fromkeys(texts)]


def typed_queries(texts: Iterable[str]) -> list[Query]:
    """Return a query for each text that somebody typed; raises UsageError for one of blanks."""
    stripped = [text.strip() for text in texts]
    if not all(stripped):
        raise UsageError("A query has at least one character that is no blank.")
    return queries_of(stripped)


def _read_query(line: str, number: int, *, as_json: bool) -> Query:
    if not as_json:
        return Query(id=_id_of(line), text=line)
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict) or not isinstance(row.get("text"), str):
        raise UsageError(f"Line {number} is no JSON object with a text.")
    text = check_text(row["text"], f"text in line {number}")
    name = row.get("_id", row.get("id")) or _id_of(text)
    if not isinstance(name, str):
        raise UsageError(f"The id in line {number} is no text.")
    return Query(id=name, text=text)


def _id_of(text: str) -> str:
    return f"q-{hashlib.sha256(text.encode('utf-8')).hexdigest()[:16]}"

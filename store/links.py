"""Links: typed edges between records and captures, with a span where words are quoted."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from shiyi.store.database import Database
from shiyi.store.rows import Link, encode_json

_INSERT = """
    INSERT INTO links (scope, src, rel, dst, span_start, span_end, attrs)
    SELECT unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?)
    ON CONFLICT DO NOTHING
    RETURNING src, rel, dst
"""
_FROM = """
    SELECT scope, src, rel, dst, span_start, span_end, attrs FROM links
    WHERE scope = ? AND list_contains(?, src) ORDER BY src, rel, dst, span_start, span_end
"""
_TO = """
    SELECT scope, src, rel, dst, span_start, span_end, attrs FROM links
    WHERE scope = ? AND dst = ? ORDER BY src, rel, span_start, span_end
"""
_ALL = """
    SELECT scope, src, rel, dst, span_start, span_end, attrs FROM links
    WHERE scope = ? ORDER BY src, rel, dst, span_start, span_end
"""


def insert_links(database: Database, links: Sequence[Link]) -> list[tuple[str, str, str]]:
    """Append the links that are new and return them as (src, rel, dst)."""
    rows = [
        (k.scope, k.src, k.rel, k.dst, k.span_start, k.span_end, encode_json(k.attrs))
        for k in links
    ]
    return [(row[0], row[1], row[2]) for row in database.insert(_INSERT, rows)]


def links_from(database: Database, scope: str, ids: Sequence[str]) -> dict[str, list[Link]]:
    """Return the links that leave each of `ids`; ids without any are absent."""
    found: dict[str, list[Link]] = {}
    if ids:
        for row in database.rows(_FROM, [scope, list(ids)]):
            found.setdefault(row[1], []).append(_link(row))
    return found


def links_to(database: Database, scope: str, target: str) -> list[Link]:
    """Return the links that arrive at `target`."""
    return [_link(row) for row in database.rows(_TO, [scope, target])]


def iterate_links(database: Database, scope: str) -> Iterator[Link]:
    """Yield every link of the scope, ordered by its source."""
    for batch in database.batches(_ALL, [scope]):
        yield from map(_link, batch)


def _link(row: tuple[Any, ...]) -> Link:
    return Link(
        scope=row[0], src=row[1], rel=row[2], dst=row[3], span_start=row[4], span_end=row[5],
        attrs=json.loads(row[6]),
    )  # fmt: skip

"""Links: typed edges between records and captures, with a span where words are quoted."""

import json
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from shiyi.store.database import Database
from shiyi.store.rows import Link, encode_json

_INSERT = """
    INSERT INTO links (scope, src, rel, dst, span_start, span_end, attrs)
    SELECT unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?), unnest(?)
"""
# A hub is cut in the query, its newest neighbours first: an id of ours grows with time.
_FROM = """
    SELECT scope, src, rel, dst, span_start, span_end, attrs FROM links
    WHERE scope = $scope AND list_contains($ids, src)
        AND ($rels IS NULL OR list_contains($rels, rel))
    QUALIFY $most IS NULL OR $most >= row_number() OVER (
        PARTITION BY src, rel ORDER BY dst DESC, span_start, span_end
    )
    ORDER BY src, rel, dst, span_start, span_end
"""
_TO = """
    SELECT scope, src, rel, dst, span_start, span_end, attrs FROM links
    WHERE scope = $scope AND list_contains($ids, dst)
        AND ($rels IS NULL OR list_contains($rels, rel))
    QUALIFY $most IS NULL OR $most >= row_number() OVER (
        PARTITION BY dst, rel ORDER BY src DESC, span_start, span_end
    )
    ORDER BY dst, src, rel, span_start, span_end
"""
# By the one end alone: with any other condition beside it, DuckDB does not go by the index.
_FROM_ONE = """
    SELECT scope, src, rel, dst, span_start, span_end, attrs, rowid FROM links WHERE src = ?
"""
_TO_ONE = """
    SELECT scope, src, rel, dst, span_start, span_end, attrs, rowid FROM links WHERE dst = ?
"""
_ONE_BY_ONE = 4  # ids; one look-up each takes less than one query for all
_IN_ORDER = """
    SELECT scope, src, rel, dst, span_start, span_end, attrs, rowid FROM links
    WHERE scope = $scope AND list_contains($ids, src) ORDER BY rowid
"""
_DEGREES = """
    SELECT src, 'out', rel, count(*) FROM links
    WHERE scope = $scope AND list_contains($ids, src) GROUP BY src, rel
    UNION ALL
    SELECT dst, 'in', rel, count(*) FROM links
    WHERE scope = $scope AND list_contains($ids, dst) GROUP BY dst, rel
    ORDER BY ALL
"""
_EDGES = """
    SELECT DISTINCT src, rel, dst FROM links
    WHERE scope = $scope AND ($rels IS NULL OR list_contains($rels, rel)) ORDER BY ALL
"""
_ALL = """
    SELECT scope, src, rel, dst, span_start, span_end, attrs FROM links
    WHERE scope = ? ORDER BY src, rel, dst, span_start, span_end
"""


def insert_links(
    database: Database, scope: str, links: Sequence[Link], fresh: AbstractSet[str] = frozenset()
) -> list[Link]:
    """Append the links that are new and return them; those of `fresh` sources are."""
    known = links_from(database, scope, list({link.src for link in links} - fresh))
    present = {_identity(link) for of_source in known.values() for link in of_source}
    new: dict[tuple[Any, ...], Link] = {}
    for link in links:
        if _identity(link) not in present:
            new.setdefault(_identity(link), link)
    database.insert(_INSERT, [(k.scope, *key, encode_json(k.attrs)) for key, k in new.items()])
    return list(new.values())


def links_from(
    database: Database,
    scope: str,
    ids: Sequence[str],
    *,
    rels: Sequence[str] | None = None,
    most: int | None = None,
) -> dict[str, list[Link]]:
    """Return the links that leave each of `ids`; ids without any are absent.

    Only those of `rels` when given, and of each relation of each id at most `most`.
    """
    if most is None and len(ids) <= _ONE_BY_ONE:
        rows = _one_by_one(database, _FROM_ONE, scope, ids, rels)
    else:
        rows = database.rows(_FROM, _values(scope, ids, rels, most))
    found: dict[str, list[Link]] = {}
    for row in rows:
        found.setdefault(row[1], []).append(_link(row))
    return found


def links_in_order(database: Database, scope: str, ids: Sequence[str]) -> dict[str, list[Link]]:
    """Return the links that leave each of `ids`, in the order in which they came."""
    found: dict[str, list[Link]] = {}
    if len(ids) <= _ONE_BY_ONE:
        rows = _one_by_one(database, _FROM_ONE, scope, ids, None)
        rows.sort(key=lambda row: row[7])
    else:
        rows = database.rows(_IN_ORDER, {"scope": scope, "ids": list(ids)})
    for row in rows:
        found.setdefault(row[1], []).append(_link(row))
    return found


def links_to(
    database: Database,
    scope: str,
    ids: Sequence[str],
    *,
    rels: Sequence[str] | None = None,
    most: int | None = None,
) -> dict[str, list[Link]]:
    """Return the links that arrive at each of `ids`, as `links_from` does for those that leave.

    A hub, such as a person with 10,000 mentions, is cut to `most` in the query itself.
    """
    if most is None and len(ids) <= _ONE_BY_ONE:
        rows = _one_by_one(database, _TO_ONE, scope, ids, rels)
    else:
        rows = database.rows(_TO, _values(scope, ids, rels, most))
    found: dict[str, list[Link]] = {}
    for row in rows:
        found.setdefault(row[3], []).append(_link(row))
    return found


def degrees(
    database: Database, scope: str, ids: Sequence[str]
) -> dict[str, dict[str, dict[str, int]]]:
    """Return for each of `ids` how many links leave it ("out") and arrive ("in"), by relation."""
    found: dict[str, dict[str, dict[str, int]]] = {id_: {"out": {}, "in": {}} for id_ in ids}
    if ids:
        for id_, side, rel, count in database.rows(_DEGREES, {"scope": scope, "ids": list(ids)}):
            found[id_][side][rel] = count
    return found


def edges(
    database: Database, scope: str, rels: Sequence[str] | None = None
) -> tuple[list[str], list[str], list[str]]:
    """Return all links of a scope at once as three columns of equal length: src, rel, dst.

    Each edge stands once, however many spans it quotes, in the order of src, rel, dst.
    """
    rows = database.rows(_EDGES, {"scope": scope, "rels": rels and list(rels)})
    sources, relations, targets = zip(*rows, strict=True) if rows else ((), (), ())
    return list(sources), list(relations), list(targets)


def _one_by_one(
    database: Database, query: str, scope: str, ids: Sequence[str], rels: Sequence[str] | None
) -> list[tuple[Any, ...]]:
    """Return the rows of a query for each id, ordered as the queries for all have them."""
    return [
        row
        for id_ in sorted(set(ids))
        for row in sorted(database.rows(query, [id_]), key=lambda row: row[1:6])
        if row[0] == scope and (rels is None or row[2] in rels)
    ]


def _values(
    scope: str, ids: Sequence[str], rels: Sequence[str] | None, most: int | None
) -> dict[str, Any]:
    return {"scope": scope, "ids": list(ids), "rels": rels and list(rels), "most": most}


def iterate_links(database: Database, scope: str) -> Iterator[Link]:
    """Yield every link of the scope, ordered by its source."""
    for batch in database.batches(_ALL, [scope]):
        yield from map(_link, batch)


def _identity(link: Link) -> tuple[str, str, str, int, int]:
    return link.src, link.rel, link.dst, link.span_start, link.span_end


def _link(row: tuple[Any, ...]) -> Link:
    return Link(
        scope=row[0], src=row[1], rel=row[2], dst=row[3], span_start=row[4], span_end=row[5],
        attrs=json.loads(row[6]),
    )  # fmt: skip

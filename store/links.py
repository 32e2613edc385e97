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


def _identity(link: Link) -> tuple[str, str, str, int, int]:
    return link.src, link.rel, link.dst, link.span_start, link.span_end


def _link(row: tuple[Any, ...]) -> Link:
    return Link(
        scope=row[0], src=row[1], rel=row[2], dst=row[3], span_start=row[4], span_end=row[5],
        attrs=json.loads(row[6]),
    )  # fmt: skip

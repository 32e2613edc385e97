"""Links that go: with them the change that brought each, so that the feed still tells what is.

A link has no number of its own: the links of one source stand in the order of its link changes.
So a link that is removed takes its change along: the row stays, numbered as it was, but says
`unlink`. What an undo removes is kept aside in `unlinked`, for whoever undoes the undo.
"""

from collections.abc import Sequence
from typing import Any

from shiyi.store.database import Database

# Each link beside the change that brought it.
_NUMBERED = """
    SELECT link.row, link.src, link.rel, link.dst, link.span_start, link.span_end, link.attrs,
           written.seq
    FROM (
        SELECT rowid AS row, src, rel, dst, span_start, span_end, attrs,
               row_number() OVER (PARTITION BY src ORDER BY rowid) AS place
        FROM links WHERE scope = $scope
    ) AS link
    JOIN (
        SELECT id AS src, seq, row_number() OVER (PARTITION BY id ORDER BY seq) AS place
        FROM changes WHERE scope = $scope AND what = 'link'
    ) AS written USING (src, place)
"""
_AT_ENDS = f"""
    SELECT row, seq FROM ({_NUMBERED}) WHERE list_contains($ids, src) OR list_contains($ids, dst)
"""  # noqa: S608
_SINCE = f"""
    SELECT row, seq, src, rel, dst FROM ({_NUMBERED}) WHERE seq > $after ORDER BY seq
"""  # noqa: S608
_KEEP_ASIDE = f"""
    INSERT INTO unlinked
    SELECT $scope, src, rel, dst, span_start, span_end, attrs, seq, $removed
    FROM ({_NUMBERED}) WHERE list_contains($rows, row) ORDER BY seq
"""  # noqa: S608
_ASIDE = """
    SELECT DISTINCT src, rel, dst, span_start, span_end, attrs FROM unlinked
    WHERE scope = $scope AND made_seq <= $at AND removed_seq > $at ORDER BY ALL
"""

Placed = tuple[int, int]  # the row of a link, and the number of the change that brought it


def links_at(database: Database, scope: str, ids: Sequence[str]) -> list[Placed]:
    """Return the links that leave or reach any of `ids`."""
    return [(row, seq) for row, seq in _rows(database, _AT_ENDS, scope, ids=list(ids))]


def links_since(
    database: Database, scope: str, seq: int
) -> list[tuple[Placed, tuple[str, str, str]]]:
    """Return the links that came after a change, each with its (src, rel, dst)."""
    found = _rows(database, _SINCE, scope, after=seq)
    return [((row, number), (src, rel, dst)) for row, number, src, rel, dst in found]


def keep_aside(database: Database, scope: str, links: Sequence[Placed], removed: int) -> None:
    """Note links that are removed by change `removed`, so that they can be brought back."""
    rows = [row for row, _ in links]
    _rows(database, _KEEP_ASIDE, scope, rows=rows, removed=removed)


def kept_aside(database: Database, scope: str, seq: int) -> list[tuple[Any, ...]]:
    """Return (src, rel, dst, start, end, attrs) of the links that stood at a change and went."""
    return _rows(database, _ASIDE, scope, at=seq)


def remove(database: Database, links: Sequence[Placed]) -> None:
    """Remove links; the changes that brought them say `unlink` from now on."""
    if links:
        rows, seqs = [row for row, _ in links], [seq for _, seq in links]
        database.rows("DELETE FROM links WHERE list_contains(?, rowid)", [rows])
        database.rows("UPDATE changes SET what = 'unlink' WHERE list_contains(?, seq)", [seqs])


def _rows(database: Database, query: str, scope: str, **values: Any) -> list[tuple[Any, ...]]:
    return database.rows(query, {"scope": scope, **values})

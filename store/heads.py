"""Heads: records as they stand, or stood at a time, filtered, ordered, counted and paged.

The head of a record is its highest version; as of a time, the highest that was written by then.
Filters read narrow columns only, and whole rows are fetched by id for the few that are shown, so
that a page of a large scope stays cheap. An order always ends with the id: equal inputs give equal
pages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any, Literal

from shiyi.core.errors import UsageError
from shiyi.core.wording import LOST_PLACE
from shiyi.store.database import Database, naive
from shiyi.store.records import versions_of_records
from shiyi.store.rows import Record

Order = Literal["id", "oldest", "newest", "salience", "updated"]
Group = Literal["kind", "layer", "status", "phase", "topic"]

# Few records have a second version, so the later ones are a small set to take away.
_HEADS = """
    SELECT record_id, kind, layer, status, phase, topics, salience, date_start, date_end,
           updated_at, datediff('day', DATE '1970-01-01', date_start) AS day
    FROM records AS head
    WHERE scope = $scope AND ($as_of IS NULL OR updated_at <= $as_of)
        AND ($kinds IS NULL OR list_contains($kinds, kind))
        AND ($layers IS NULL OR list_contains($layers, layer))
        AND ($statuses IS NULL OR list_contains($statuses, status))
        AND ($phases IS NULL OR list_contains($phases, phase))
        AND ($topics IS NULL OR list_has_any(topics, $topics))
        AND ($since IS NULL OR coalesce(date_end, date_start) >= $since)
        AND ($until IS NULL OR date_start <= $until)
        AND ($dated IS NULL OR (date_start IS NOT NULL) = $dated)
        AND NOT EXISTS (
            SELECT 1 FROM records AS later
            WHERE later.scope = $scope AND later.version > 1
                AND ($as_of IS NULL OR later.updated_at <= $as_of)
                AND later.record_id = head.record_id AND later.version > head.version
        )
"""
# One query for every order: the smaller key comes first, what has none comes last.
_PAGE = f"""
    WITH found AS (
        SELECT record_id,
            coalesce(CASE $order
                WHEN 'oldest' THEN day WHEN 'newest' THEN -day WHEN 'salience' THEN -salience
                WHEN 'updated' THEN -epoch_us(updated_at) ELSE 0
            END, 1_000_000_000) AS first_key,
            coalesce(CASE WHEN $order IN ('salience', 'updated') THEN -day ELSE 0 END,
                1_000_000_000) AS second_key
        FROM ({_HEADS})
    )
    SELECT found.record_id FROM found
    LEFT JOIN (SELECT * FROM found WHERE record_id = $after) AS last ON true
    WHERE $after IS NULL OR CASE $order WHEN 'id' THEN found.record_id > $after
        ELSE (found.first_key, found.second_key, found.record_id)
            > (last.first_key, last.second_key, last.record_id) END
    ORDER BY found.first_key, found.second_key, found.record_id LIMIT $limit
"""  # noqa: S608
_IS_HEAD = f"SELECT 1 FROM ({_HEADS}) WHERE record_id = $after"  # noqa: S608
_BY_PHASE = f"""
    SELECT record_id FROM ({_HEADS})
    QUALIFY row_number() OVER (
        PARTITION BY phase ORDER BY salience DESC, day DESC NULLS LAST, record_id
    ) <= $most
    ORDER BY day NULLS LAST, record_id
"""  # noqa: S608
_COUNTS = f"""
    SELECT name, count(*) AS heads FROM (
        SELECT unnest(CASE $by WHEN 'kind' THEN [kind] WHEN 'layer' THEN [layer]
            WHEN 'status' THEN [status] WHEN 'phase' THEN [phase] ELSE topics END) AS name
        FROM ({_HEADS})
    )
    GROUP BY name ORDER BY heads DESC, name
"""  # noqa: S608
_PHASES = f"""
    SELECT phase, min(date_start) AS first, max(coalesce(date_end, date_start)), count(*)
    FROM ({_HEADS}) WHERE phase IS NOT NULL GROUP BY phase ORDER BY first NULLS LAST, phase
"""  # noqa: S608


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadFilter:
    """Which heads are wanted; None asks nothing, an empty tuple lets nothing through.

    since and until are inclusive days: a head passes when its days meet them at all, so one dated
    "2024" passes a window of May 2024. Undated heads pass no window. as_of looks at the versions
    that stood then (updated_at at or before it), and at their kind, status and dates.
    """

    kinds: tuple[str, ...] | None = None
    layers: tuple[str, ...] | None = None
    statuses: tuple[str, ...] | None = None
    phases: tuple[str, ...] | None = None
    topics: tuple[str, ...] | None = None
    since: date | None = None
    until: date | None = None
    dated: bool | None = None
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of life, by its records: its first and last dated day, and how many there are."""

    name: str
    first: date | None
    last: date | None
    records: int


EVERY = HeadFilter()


def heads_of(
    database: Database, scope: str, ids: Sequence[str], as_of: datetime | None = None
) -> dict[str, Record]:
    """Return the heads of the records among `ids` that exist, or existed at `as_of`."""
    return heads_among(versions_of_records(database, scope, ids), as_of)


def heads_among(
    versions_of: Mapping[str, Sequence[Record]], as_of: datetime | None = None
) -> dict[str, Record]:
    """Return the heads of records, or those at `as_of`, from their versions."""
    found: dict[str, Record] = {}
    for id_, versions in versions_of.items():
        stood = [one for one in versions if as_of is None or one.updated_at <= as_of]
        if stood:
            found[id_] = stood[-1]
    return found


def find_heads(
    database: Database,
    scope: str,
    wanted: HeadFilter = EVERY,
    *,
    order: Order = "id",
    after: str | None = None,
    limit: int,
) -> list[Record]:
    """Return up to `limit` heads in `order`; `after` is the id of the last one shown before.

    What was written in one moment comes with the latest day first. Raises UsageError when `after`
    is not among the heads that the filter lets through, but in the order of ids, which needs none.
    """
    values = {**_values(scope, wanted), "after": after}
    rows = database.rows(_PAGE, {**values, "order": order, "limit": limit})
    is_lost = after is not None and order != "id" and not rows
    if is_lost and not database.rows(_IS_HEAD, values):
        raise UsageError(LOST_PLACE)
    return _records_of(database, scope, [row[0] for row in rows], wanted.as_of)


def heads_by_phase(
    database: Database, scope: str, wanted: HeadFilter = EVERY, *, most: int
) -> dict[str | None, list[Record]]:
    """Return the `most` salient heads of each phase, oldest first; None holds those without one.

    So a phase with many records does not crowd out one with few.
    """
    rows = database.rows(_BY_PHASE, {**_values(scope, wanted), "most": most})
    found: dict[str | None, list[Record]] = {}
    for record in _records_of(database, scope, [row[0] for row in rows], wanted.as_of):
        found.setdefault(record.phase, []).append(record)
    return found


def count_heads(
    database: Database, scope: str, by: Group, wanted: HeadFilter = EVERY
) -> dict[str | None, int]:
    """Return how many heads pass for each kind, layer, status, phase or topic, most first."""
    return dict(database.rows(_COUNTS, {**_values(scope, wanted), "by": by}))


def phases_of(database: Database, scope: str, wanted: HeadFilter = EVERY) -> list[Phase]:
    """Return the phases that the heads name, in the order of their first day."""
    return [Phase(*row) for row in database.rows(_PHASES, _values(scope, wanted))]


def _values(scope: str, wanted: HeadFilter) -> dict[str, Any]:
    given = {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(wanted).items()}
    return {**given, "scope": scope, "as_of": naive(wanted.as_of)}


def _records_of(
    database: Database, scope: str, ids: Sequence[str], as_of: datetime | None
) -> list[Record]:
    found = heads_of(database, scope, ids, as_of)
    return [found[id_] for id_ in ids]

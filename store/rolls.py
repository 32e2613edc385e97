"""The roll of a scope: narrow columns of every record as it stands, or stood at a time.

For who looks at all records of a scope at once: a row costs a few dozen bytes and no object, and
the few that are shown are read whole afterwards. `as_of` None is now; else what was written by
then stands, and a link that was written with a version of its source is as old as that version.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from shiyi.store.database import Database, naive
from shiyi.store.heads import heads_of
from shiyi.store.kinds import DATE_PRECISIONS, KINDS, LAYERS, STATUSES
from shiyi.store.shapes import REDIRECT, is_merged

NO_DAY = -(2**31)  # days since 1970 of what has no date
NEVER = 2**63 - 1  # microseconds since 1970
_MARK = f'"{REDIRECT}":'  # stands in the attrs of an entity that was merged
_LINKS = "SELECT src, rel, dst FROM links WHERE scope = $scope"
# The links of one source stand in the order of its changes.
_LINKS_THEN = """
    SELECT link.src, link.rel, link.dst
    FROM (
        SELECT src, rel, dst, row_number() OVER (PARTITION BY src ORDER BY rowid) AS place
        FROM links WHERE scope = $scope
    ) AS link
    JOIN (
        SELECT id AS src, changed_at, row_number() OVER (PARTITION BY id ORDER BY seq) AS place
        FROM changes WHERE scope = $scope AND what = 'link'
    ) AS written USING (src, place)
    LEFT JOIN (
        SELECT change.id AS src, change.changed_at, max(record.updated_at) AS updated_at
        FROM changes AS change
        JOIN records AS record ON record.scope = change.scope AND record.record_id = change.id
            AND record.version = change.version
        WHERE change.scope = $scope AND change.what = 'record' GROUP BY ALL
    ) AS version ON version.src = link.src AND version.changed_at = written.changed_at
    WHERE coalesce(version.updated_at, written.changed_at) <= $as_of
"""
# The links in which each entity that was merged is the one that stands for it.
_REDIRECTED = """
    SELECT coalesce(source.final, link.src) AS src, link.rel,
        coalesce(target.final, link.dst) AS dst
    FROM ({links}) AS link
    LEFT JOIN (SELECT unnest($olds) AS old, unnest($finals) AS final) AS source
        ON source.old = link.src
    LEFT JOIN (SELECT unnest($olds) AS old, unnest($finals) AS final) AS target
        ON target.old = link.dst
"""
_ROLL = """
    SELECT record_id AS id, (list_position($kinds, kind) - 1)::UTINYINT AS kind,
           (list_position($layers, layer) - 1)::UTINYINT AS layer,
           (list_position($statuses, status) - 1)::UTINYINT AS status,
           salience::UTINYINT AS salience,
           coalesce(date_start - DATE '1970-01-01', $no_day)::INTEGER AS first,
           coalesce(coalesce(date_end, date_start) - DATE '1970-01-01', $no_day)::INTEGER AS last,
           (list_position($precisions, date_precision) - 1)::UTINYINT AS date_precision,
           CASE WHEN phase IS NULL THEN 0 ELSE hash(phase) END::UBIGINT AS phase,
           coalesce(epoch_us(expires_at), $never) AS expires,
           record_id IN (SELECT src FROM ({links}) WHERE rel = 'quotes') AS sourced, version
    FROM records WHERE scope = $scope {then}
    QUALIFY version = max(version) OVER (PARTITION BY record_id) ORDER BY record_id
"""
_PHASES = """
    SELECT DISTINCT phase, hash(phase)::UBIGINT FROM records
    WHERE scope = $scope AND phase IS NOT NULL {then} ORDER BY phase
"""
# Few records have a second version, so the later ones are a small set to take away.
_STANDING = """
    SELECT record_id, kind, status, title, gist, detail, topics, aliases, salience, attrs,
        salience_source, updated_at
    FROM records AS head WHERE scope = $scope {then} AND NOT EXISTS (
        SELECT 1 FROM records AS later WHERE later.scope = $scope AND later.version > 1
            AND later.record_id = head.record_id AND later.version > head.version {then_later}
    )
"""
_WORDED = f"""
    SELECT record_id FROM ({_STANDING})
    WHERE regexp_matches(concat_ws(chr(10), title, gist, detail), $pattern) ORDER BY record_id
"""  # noqa: S608
_TOPICAL = f"""
    SELECT record_id FROM ({_STANDING}) WHERE list_has_any(topics, $topics) ORDER BY record_id
"""  # noqa: S608
_TOPIC_COUNTS = f"""
    SELECT topic, count(*) AS records FROM (
        SELECT unnest(topics) AS topic FROM ({_STANDING})
        WHERE CASE WHEN $ids IS NULL THEN status = 'active'
                   ELSE record_id IN (SELECT unnest($ids)) END
    ) GROUP BY topic ORDER BY records DESC, topic
"""  # noqa: S608
_NAMES = f"""
    SELECT record_id, title, aliases FROM ({_STANDING})
    WHERE kind = $kind AND (status = 'active' OR contains(attrs, $redirect))
    ORDER BY salience DESC, record_id
"""  # noqa: S608
_ATTRIBUTES = f"""
    SELECT record_id, json_extract_string(attrs, $paths)
    FROM ({_STANDING}) WHERE attrs <> '{{{{}}}}' AND list_contains($kinds, kind)
        AND ($ids IS NULL OR list_contains($ids, record_id))
    ORDER BY record_id
"""  # noqa: S608
# Most scopes have no entity that was ever merged, and that is seen without looking for heads.
_EVER_MERGED = """
    SELECT DISTINCT record_id FROM records
    WHERE scope = $scope AND kind = 'entity' AND contains(attrs, $redirect) ORDER BY record_id
"""
# Of each record that quotes: whether no words behind it are exact, and whether none are its own.
_BEHIND = """
    SELECT link.src, bool_and(capture.fidelity = 'summary_only'),
        bool_and(capture.fidelity = 'external_material'
            OR list_contains($others, lower(capture.speaker)))
    FROM ({links}) AS link
    JOIN captures AS capture ON capture.scope = $scope AND capture.capture_id = link.dst
    WHERE link.rel = 'quotes' GROUP BY link.src ORDER BY link.src
"""
_UNCONFIRMED = f"""
    SELECT record_id FROM ({_STANDING})
    WHERE status = 'active' AND list_contains($sources, salience_source) AND salience >= $least
        AND updated_at <= $before AND NOT list_contains($kept, kind)
        AND record_id NOT IN (
            SELECT target_id FROM feedback WHERE scope = $scope AND verdict = 'helpful')
        AND record_id NOT IN (SELECT dst FROM links WHERE scope = $scope AND rel = 'supports')
    ORDER BY salience DESC, record_id
"""  # noqa: S608
_EDGES = """
    SELECT DISTINCT src, rel, dst FROM ({links}) WHERE list_contains($rels, rel) ORDER BY ALL
"""
_ARRIVALS = """
    SELECT dst, count(DISTINCT src) FROM ({links}) WHERE list_contains($rels, rel)
    GROUP BY dst ORDER BY dst
"""
_SOURCES = """
    SELECT DISTINCT src FROM ({links})
    WHERE list_contains($rels, rel) AND list_contains($ids, dst) ORDER BY src
"""


class Rolls:
    """Reads the columns of a scope."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, scope: str, as_of: datetime | None = None) -> dict[str, Any]:
        """Return numpy columns of all records, by id: one row each, of the version that stands.

        id (str), kind, layer, status and date_precision (positions in `store.kinds`), salience,
        first and last (days since 1970, or NO_DAY), phase (a number that `phases` names; 0
        without one), expires (microseconds, or NEVER), sourced (it quotes a capture), version.
        """
        query, values = _asked(
            _ROLL, scope, as_of, kinds=list(KINDS), layers=list(LAYERS), statuses=list(STATUSES),
            precisions=list(DATE_PRECISIONS), no_day=NO_DAY, never=NEVER,
        )  # fmt: skip
        return self._database.columns(query, values)

    def phases(self, scope: str, as_of: datetime | None = None) -> dict[int, str]:
        """Return the names of all phases, by their number in the roll."""
        return {key: name for name, key in self._rows(_PHASES, scope, as_of)}

    def phase_number(self, name: str) -> int:
        """Return the number that a phase has in the roll."""
        return int(self._database.rows("SELECT hash(?::VARCHAR)::UBIGINT", [name])[0][0])

    def topic_counts(
        self, scope: str, ids: Sequence[str] | None = None, as_of: datetime | None = None
    ) -> dict[str, int]:
        """Return how many of `ids`, or of all active records, have each topic, most first."""
        wanted = ids if ids is None else list(ids)
        return dict(self._rows(_TOPIC_COUNTS, scope, as_of, ids=wanted))

    def names(
        self, scope: str, kind: str, as_of: datetime | None = None
    ) -> list[tuple[str, tuple[str, ...]]]:
        """Return the id, and the title and aliases, of each active record of a kind.

        An entity that was merged into another one keeps its names, and is among them.
        """
        rows = self._rows(_NAMES, scope, as_of, kind=kind, redirect=_MARK)
        return [(id_, (title, *aliases)) for id_, title, aliases in rows]

    def with_words(self, scope: str, pattern: str, as_of: datetime | None = None) -> list[str]:
        """Return the ids of the records whose title, gist or detail an RE2 pattern matches."""
        return [row[0] for row in self._rows(_WORDED, scope, as_of, pattern=pattern)]

    def with_topics(
        self, scope: str, topics: Sequence[str], as_of: datetime | None = None
    ) -> list[str]:
        """Return the ids of the records that have any of the topics, as they are written."""
        return [row[0] for row in self._rows(_TOPICAL, scope, as_of, topics=list(topics))]

    def attributes(
        self,
        scope: str,
        kinds: Sequence[str],
        names: Sequence[str],
        as_of: datetime | None = None,
        *,
        ids: Sequence[str] | None = None,
    ) -> dict[str, tuple[str | None, ...]]:
        """Return some attributes of every record of these kinds, or among `ids`, that has any."""
        paths, own = [f"$.{name}" for name in names], ids if ids is None else list(ids)
        rows = self._rows(_ATTRIBUTES, scope, as_of, kinds=list(kinds), paths=paths, ids=own)
        return {id_: tuple(values) for id_, values in rows}

    def redirects(self, scope: str, as_of: datetime | None = None) -> dict[str, str]:
        """Return for each entity that was merged the one that stands for it, at the last."""
        ids = [row[0] for row in self._rows(_EVER_MERGED, scope, None, redirect=_MARK)]
        heads = heads_of(self._database, scope, ids, as_of)
        next_ = {
            id_: str(head.attrs[REDIRECT])
            for id_, head in heads.items()
            if is_merged(head.kind, head.attrs)
        }
        found = {}
        for id_, target in next_.items():
            seen, last = {id_}, target
            while last in next_ and last not in seen:
                seen.add(last)
                last = next_[last]
            if last not in seen:  # what goes round in a circle stands for itself
                found[id_] = last
        return found

    def unconfirmed(
        self, scope: str, sources: Sequence[str], kept: Sequence[str], least: int, before: datetime
    ) -> list[str]:
        """Return the active records whose salience, of these sources, nothing has confirmed.

        Those unchanged since `before`, of at least some salience and not of the kinds that are
        kept, which nobody found helpful and no record supports; most salient first.
        """
        values = {"sources": list(sources), "kept": list(kept), "least": least}
        rows = self._rows(_UNCONFIRMED, scope, None, **values, before=naive(before))
        return [row[0] for row in rows]

    def behind(
        self, scope: str, others: Sequence[str], as_of: datetime | None = None
    ) -> dict[str, tuple[bool, bool]]:
        """Return for each record that quotes: is nothing behind it exact, is it all by others.

        others: speakers, in small letters, who are not the person.
        """
        rows = self._rows(_BEHIND, scope, as_of, others=list(others))
        return {id_: (bool(inexact), bool(foreign)) for id_, inexact, foreign in rows}

    def edges(
        self, scope: str, rels: Sequence[str], as_of: datetime | None = None
    ) -> list[tuple[str, str, str]]:
        """Return the links of these relations as (src, rel, dst), each edge once."""
        rows = self._linked(_EDGES, scope, as_of, rels=list(rels))
        return [(src, rel, dst) for src, rel, dst in rows]

    def arrivals(
        self, scope: str, rels: Sequence[str], as_of: datetime | None = None
    ) -> dict[str, int]:
        """Return of how many sources such links arrive at each target."""
        return dict(self._linked(_ARRIVALS, scope, as_of, rels=list(rels)))

    def sources(
        self, scope: str, ids: Sequence[str], rels: Sequence[str], as_of: datetime | None = None
    ) -> list[str]:
        """Return the sources of such links to any of `ids`."""
        return [
            row[0] for row in self._linked(_SOURCES, scope, as_of, ids=list(ids), rels=list(rels))
        ]

    def _linked(
        self, query: str, scope: str, as_of: datetime | None, **values: Any
    ) -> list[tuple[Any, ...]]:
        """Run a query over links, which lead through the redirects of merged entities."""
        redirects = self.redirects(scope, as_of)
        if redirects:
            query = query.replace("{links}", _REDIRECTED)
            values |= {"olds": list(redirects), "finals": list(redirects.values())}
        return self._rows(query, scope, as_of, **values)

    def _rows(
        self, query: str, scope: str, as_of: datetime | None, **values: Any
    ) -> list[tuple[Any, ...]]:
        query, values = _asked(query, scope, as_of, **values)
        return self._database.rows(query, values)


def _asked(
    query: str, scope: str, as_of: datetime | None, **values: Any
) -> tuple[str, dict[str, Any]]:
    """Return a query over what stands, or stood, and its values."""
    if as_of is None:
        return query.format(links=_LINKS, then="", then_later=""), {"scope": scope, **values}
    made = query.format(
        links=_LINKS_THEN, then="AND updated_at <= $as_of",
        then_later="AND later.updated_at <= $as_of",
    )  # fmt: skip
    return made, {"scope": scope, "as_of": naive(as_of), **values}

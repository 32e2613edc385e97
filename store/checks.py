"""What does not fit in a home, found by reading all of it: rows, numbers, links and bytes."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shiyi.store.attachments import ATTACHMENTS, attachment_path
from shiyi.store.database import Database
from shiyi.store.kinds import CHAINS
from shiyi.store.shapes import REDIRECT

# Everything that a link may lead from or to.
_KNOWN = """
    SELECT scope, record_id AS id FROM records
    UNION SELECT scope, capture_id FROM captures
    UNION SELECT scope, attachment_id FROM attachments
"""
_GAPS = """
    SELECT before, seq FROM (
        SELECT seq, coalesce(lag(seq) OVER (ORDER BY seq), 0) AS before FROM changes
    ) WHERE seq <> before + 1 ORDER BY seq
"""
_LOST_ROWS = """
    SELECT 'capture', change.scope, change.id FROM changes AS change
    WHERE change.what = 'capture' AND NOT EXISTS (
        SELECT 1 FROM captures AS kept WHERE kept.capture_id = change.id
            AND kept.scope = change.scope
    )
    UNION ALL
    SELECT 'record', change.scope, change.id FROM changes AS change
    WHERE change.what = 'record' AND NOT EXISTS (
        SELECT 1 FROM records AS kept WHERE kept.record_id = change.id
            AND kept.scope = change.scope AND kept.version = change.version
    )
    ORDER BY ALL
"""
_TORN = """
    SELECT scope, record_id FROM records GROUP BY scope, record_id
    HAVING count(*) <> max(version) OR min(version) <> 1 ORDER BY ALL
"""
_RISEN = f"""
    SELECT known.scope, known.id FROM ({_KNOWN}) AS known
    JOIN tombstones AS gone ON gone.scope = known.scope AND gone.id = known.id ORDER BY ALL
"""  # noqa: S608
_ORPHANS = f"""
    WITH known AS ({_KNOWN})
    SELECT link.scope, link.src, link.rel, link.dst FROM links AS link
    WHERE (link.scope, link.src) NOT IN (SELECT (scope, id) FROM known)
        OR (link.scope, link.dst) NOT IN (SELECT (scope, id) FROM known)
    ORDER BY ALL
"""  # noqa: S608
_SPANS = """
    SELECT link.scope, link.src, link.dst FROM links AS link
    JOIN captures AS kept ON kept.scope = link.scope AND kept.capture_id = link.dst
    WHERE (link.span_start, link.span_end) <> (-1, -1) AND NOT (
        link.span_start >= 0 AND link.span_start < link.span_end
        AND link.span_end <= length(kept.text)
    )
    ORDER BY ALL
"""
_CHAINS = """
    SELECT DISTINCT scope, rel, src, dst FROM links
    WHERE list_contains($chains, rel)
    UNION
    SELECT scope, $redirect, record_id, into_ FROM (
        SELECT scope, record_id, json_extract_string(attrs, '$.' || $redirect) AS into_
        FROM records WHERE kind = 'entity'
        QUALIFY version = max(version) OVER (PARTITION BY scope, record_id)
    ) WHERE into_ IS NOT NULL
    ORDER BY ALL
"""

Rows = list[tuple[Any, ...]]


class Checks:
    """Looks at one home. Every answer is a list of what does not fit; an empty one is good."""

    def __init__(self, home: Path, database: Database) -> None:
        self._home = home
        self._database = database

    def gaps(self) -> list[tuple[int, int]]:
        """Return (number before, number after) wherever the changes do not go on by one."""
        return [(before, seq) for before, seq in self._database.rows(_GAPS)]

    def lost_rows(self) -> Rows:
        """Return (what, scope, id) of what a change brought and is not there."""
        return self._database.rows(_LOST_ROWS)

    def torn_records(self) -> Rows:
        """Return (scope, id) of records whose versions do not go from 1 on by one."""
        return self._database.rows(_TORN)

    def risen(self) -> Rows:
        """Return (scope, id) of what was purged and is there all the same."""
        return self._database.rows(_RISEN)

    def orphans(self) -> Rows:
        """Return (scope, src, rel, dst) of links with an end that is not there."""
        return self._database.rows(_ORPHANS)

    def broken_spans(self) -> Rows:
        """Return (scope, src, dst) of links whose span does not lie in the words."""
        return self._database.rows(_SPANS)

    def chains(self) -> Rows:
        """Return (scope, rel, src, dst) of links and redirects that must never form a circle."""
        return self._database.rows(_CHAINS, {"redirect": REDIRECT, "chains": list(CHAINS)})

    def attachments(self) -> Iterator[tuple[str, str, str]]:
        """Yield (scope, id, how) of attachments whose bytes are missing or not as they were."""
        query = "SELECT scope, attachment_id, sha256, bytes FROM attachments ORDER BY ALL"
        for scope, id_, sha256, size in self._database.rows(query):
            try:
                with attachment_path(self._home, sha256).open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                    fits = digest == sha256 and file.tell() == size
            except OSError:
                yield scope, id_, "missing"
            else:
                if not fits:
                    yield scope, id_, "changed"

    def stray_files(self) -> list[Path]:
        """Return the files among the attachments that no row names."""
        root = self._home / ATTACHMENTS
        named = {row[0] for row in self._database.rows("SELECT DISTINCT sha256 FROM attachments")}
        files = (path for path in root.rglob("*") if path.is_file()) if root.is_dir() else ()
        return sorted(path for path in files if path.name not in named)

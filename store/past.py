"""The past, as the change feed tells it: when each change was made, and what stood after it."""

from datetime import datetime

from shiyi.store.database import Database, naive, utc


class Past:
    """Reads what the changes say of earlier times."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def seq_at(self, moment: datetime) -> int:
        """Return the number of the last change that was made by then; 0 when there was none."""
        query = "SELECT coalesce(max(seq), 0) FROM changes WHERE changed_at <= ?"
        return int(self._database.rows(query, [naive(moment)])[0][0])

    def time_of(self, seq: int) -> datetime | None:
        """Return when the last change up to `seq` was made, or None."""
        query = "SELECT changed_at FROM changes WHERE seq <= ? ORDER BY seq DESC LIMIT 1"
        found = self._database.rows(query, [seq])
        return utc(found[0][0]) if found else None

    def versions_at(self, scope: str, seq: int) -> dict[str, int]:
        """Return the version that each record of a scope had after change `seq`."""
        query = """
            SELECT id, max(version) FROM changes
            WHERE scope = ? AND what = 'record' AND seq <= ? GROUP BY id
        """
        return dict(self._database.rows(query, [scope, seq]))

    def records_since(self, scope: str, seq: int) -> list[str]:
        """Return the records that have a version from after change `seq`."""
        query = """
            SELECT DISTINCT id FROM changes
            WHERE scope = ? AND what = 'record' AND seq > ? ORDER BY id
        """
        return [row[0] for row in self._database.rows(query, [scope, seq])]

    def first_unsaved(self, seq: int) -> datetime | None:
        """Return when the oldest change after `seq` was made, or None."""
        query = "SELECT min(changed_at) FROM changes WHERE seq > ?"
        found = self._database.rows(query, [seq])[0][0]
        return None if found is None else utc(found)

"""What was corrected, by a hash of its words, so that it is known when it is said again."""

from collections.abc import Sequence

from shiyi.store.database import Database

_INSERT = "INSERT INTO corrected (scope, claim, record_id) SELECT unnest(?), unnest(?), unnest(?)"
# By the claim alone: with a second condition DuckDB reads the whole table, not the index.
_FOUND = "SELECT DISTINCT record_id, scope FROM corrected WHERE claim = ? ORDER BY ALL"


def insert_corrected(database: Database, scope: str, claims: Sequence[tuple[str, str]]) -> None:
    """Note (claim, record_id) for each; a claim is the SHA-256 of folded words."""
    known = {claim: set(find_corrected(database, scope, claim)) for claim, _ in claims}
    new = dict.fromkeys(one for one in claims if one[1] not in known[one[0]])
    database.insert(_INSERT, [(scope, claim, record_id) for claim, record_id in new])


def find_corrected(database: Database, scope: str, claim: str) -> list[str]:
    """Return the records that were corrected and said this."""
    return [row[0] for row in database.rows(_FOUND, [claim]) if row[1] == scope]

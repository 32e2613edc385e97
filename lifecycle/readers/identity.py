"""Keys: the same words from the same place always get the same name."""

import hashlib
import re
from collections import Counter
from datetime import UTC, datetime

from shiyi.core.errors import UsageError
from shiyi.core.ids import MAX_EXTERNAL_ID

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)


def hashed_key(*parts: str | None) -> str:
    """Return a key made from `parts`: equal parts, equal key; no two lists run together."""
    digest = hashlib.sha256()
    for part in parts:
        content = b"" if part is None else part.encode("utf-8", "surrogatepass")
        digest.update(f"{'-' if part is None else len(content)}:".encode() + content)
    return f"hash:{digest.hexdigest()[:40]}"


def native_key(name: str, session: str) -> str:
    """Return the key for a message that its source names.

    A UUID stands alone, so that a copy of the message in another file is the same message; any
    other name is only unique within its session. A name of absurd length is hashed.
    """
    key = name if _UUID.fullmatch(name) else f"{session}/{name}"
    return key if len(key) <= MAX_EXTERNAL_ID else hashed_key("native", key)


class Occurrences:
    """Keys for messages without a name: equal ones are told apart by their order."""

    def __init__(self, form: str) -> None:
        """Count for one file of the format `form`."""
        self._form = form
        self._seen: Counter[str] = Counter()

    def key(
        self, *, session: str | None, speaker: str, captured_at: datetime | None, text: str
    ) -> str:
        """Return the key of the next message that says this."""
        when = None if captured_at is None else captured_at.astimezone(UTC).isoformat()
        same = hashed_key(self._form, session, speaker, when, text)
        self._seen[same] += 1
        return hashed_key(same, str(self._seen[same]))


class Seen:
    """What was read before, in 16 bytes a name."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._content: dict[bytes, bytes] = {}

    def again(self, name: str, content: str, *, versions: bool = False) -> bool:
        """Tell whether `name` was met last with the same content.

        Raises UsageError when it was met with other content and has no `versions`.
        """
        who, what = _short(name), _short(content)
        before = self._content.get(who)
        if before not in (None, what) and not versions:
            raise UsageError("The id was used before for other words; give each its own id.")
        self._content[who] = what
        return before == what


def _short(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()

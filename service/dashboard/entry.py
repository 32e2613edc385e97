"""Who is let in: a code that opens once becomes a cookie, and the cookie a session."""

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

ROOT = "/dashboard"
CODE_SECONDS = 60
IDLE_SECONDS = 30 * 60
_MOST_CODES, _MOST_SESSIONS = 8, 16  # of one daemon; the oldest goes

Clock = Callable[[], float]


@dataclass(slots=True)
class Entry:
    """One browser that was let in. csrf stands in every form of its pages."""

    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    seen: float = 0.0

    def is_from_us(self, given: str) -> bool:
        """Tell whether a form is one of those that we showed."""
        return hmac.compare_digest(self.csrf.encode(), given.encode("utf-8", "surrogatepass"))


class Entries:
    """Codes that wait and sessions that live. Only hashes of what opens them are kept.

    instance: of the daemon. Ports of a machine share their cookies, so the name has to differ.
    """

    def __init__(self, instance: str, clock: Clock = time.monotonic) -> None:
        self.cookie = f"shiyi-{instance[:16]}"
        self._clock = clock
        self._lock = threading.Lock()
        self._codes: dict[str, float] = {}
        self._sessions: dict[str, Entry] = {}

    def new_code(self) -> str:
        """Return a code that opens once, within a minute."""
        code = secrets.token_urlsafe(24)
        with self._lock:
            self._tidy()
            self._codes[_digest(code)] = self._clock() + CODE_SECONDS
            while len(self._codes) > _MOST_CODES:
                self._codes.pop(next(iter(self._codes)))
        return code

    def open(self, code: str) -> str | None:
        """Return what the cookie of a new session holds, or None when the code opens nothing."""
        with self._lock:
            self._tidy()
            if self._codes.pop(_digest(code), None) is None:
                return None
            secret = secrets.token_urlsafe(32)
            self._sessions[_digest(secret)] = Entry(seen=self._clock())
            while len(self._sessions) > _MOST_SESSIONS:
                self._sessions.pop(next(iter(self._sessions)))
            return secret

    def find(self, secret: str, *, touch: bool = True) -> Entry | None:
        """Return the session that a cookie names. `touch`: it begins to be idle anew."""
        with self._lock:
            self._tidy()
            entry = self._sessions.get(_digest(secret))
            if entry is not None and touch:
                entry.seen = self._clock()
            return entry

    def close(self, secret: str) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(_digest(secret), None)

    def is_used(self) -> bool:
        """Tell whether somebody is in, or may come in."""
        with self._lock:
            self._tidy()
            return bool(self._codes or self._sessions)

    def _tidy(self) -> None:
        now = self._clock()
        self._codes = {one: until for one, until in self._codes.items() if until > now}
        self._sessions = {
            one: entry for one, entry in self._sessions.items() if entry.seen + IDLE_SECONDS > now
        }


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()

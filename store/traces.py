"""Traces: what each question was answered from, kept beside the truth and apart from it.

    traces/<sha256 of the scope>/<id of the first trace>.json-seq

Segments are JSON text sequences (RFC 7464): each trace follows a record separator, so that a torn
one spoils no other. They are appended a few at a time and wait for no disk: who is killed loses the
last few. Ids begin with the time, so the names of the segments say what is in them, and pruning
removes whole segments.
"""

import hashlib
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from shiyi.core.closable import Closable
from shiyi.core.files import make_private_directory, write_atomically
from shiyi.core.ids import LEAST_SHORT, is_trace_id

Content = dict[str, Any]  # what JSON can hold, with the id under "id"
DIRECTORY = "traces"
_SEPARATOR, _END = b"\x1e", b"\n"
_SUFFIX = ".json-seq"
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
_MOST_OF_SEGMENT = 512  # traces
_SEGMENTS = 8  # of `most` traces at the least, so that a whole one can be spared
_SHORT = re.compile(rb"(?<![0-9A-Za-z])[0-9A-Za-z]{%d,25}(?![0-9A-Za-z])" % LEAST_SHORT)
_AT_ONCE = 32  # traces
_AT_LATEST = 1000  # milliseconds, counted when the next one comes
_OPEN = 16  # segments held open at once
_DAY = 86_400_000  # milliseconds
_TAIL = 10**11  # what follows the time in an id
_id_lock = threading.Lock()
_last_id = 0


@dataclass(slots=True)
class _Segment:
    """The segment that is being filled."""

    path: Path
    descriptor: int
    traces: int


class Traces(Closable):
    """The traces of one home. No failure to keep one reaches whoever asked the question."""

    def __init__(self, home: Path, *, days: int, most: int) -> None:
        """Keep, in each scope, at most `most` traces, and none that is older than `days`."""
        self._root = home / DIRECTORY
        self._days, self._most = days, most
        self._in_segment = max(1, min(_MOST_OF_SEGMENT, most // _SEGMENTS))
        self._lock = threading.Lock()
        self._pending: list[tuple[str, str, bytes]] = []  # scope, id, what is to be written
        self._open: dict[str, _Segment] = {}  # the newest of each scope

    def close(self) -> None:
        """Release the segments; a later trace opens its own again."""
        with self._lock:
            self._write()
            for scope in list(self._open):
                self._release(scope)

    def keep(self, scope: str, content: Content) -> None:
        """Take a trace, to be written with the next few."""
        line = _SEPARATOR + _encoded(content) + _END
        with self._lock:
            self._pending.append((scope, content["id"], line))
            first = self._pending[0][1]
            if len(self._pending) >= _AT_ONCE or _ms(content["id"]) - _ms(first) >= _AT_LATEST:
                self._write()

    def flush(self) -> None:
        """Write what was taken."""
        with self._lock:
            self._write()

    def find(self, scope: str, trace_id: str) -> Content | None:
        """Return one trace, or None when there is none in this scope, or not any more."""
        self.flush()
        if trace_id < self._oldest():
            return None
        # It lies in the last segment that began before it, unless the clock went back.
        segments = self._segments(scope)[::-1]
        segments.sort(key=lambda path: path.stem > trace_id)
        found = (one for path in segments for one in _read(path, trace_id) if one["id"] == trace_id)
        return next(found, None)

    def newest(self, scope: str, limit: int) -> list[Content]:
        """Return up to `limit` traces, newest first."""
        self.flush()
        oldest, found = self._oldest(), list[Content]()
        for path in reversed(self._segments(scope)):
            if len(found) >= limit:
                break
            found += [one for one in reversed(list(_read(path))) if one["id"] >= oldest]
        return found[:limit]

    def of_turn(self, scope: str, turn_id: str) -> list[Content]:
        """Return the traces of what was asked under a turn, oldest first."""
        self.flush()
        oldest, named = self._oldest(), to_json(turn_id).decode()
        found = (one for path in self._segments(scope) for one in _read(path, named))
        return [one for one in found if one.get("turn") == turn_id and one["id"] >= oldest]

    def forget(self, scope: str, mentioning: str | None = None) -> int:
        """Remove the traces of a scope, or those that mention an id; return how many went.

        An id counts as mentioned wherever it stands, in the words of a question as well.
        """
        gone = 0
        with self._lock:
            self._write()
            self._release(scope)
            word = b"" if mentioning is None else mentioning.encode()
            for path in self._segments(scope):
                gone += _rewritten(path, lambda line: word not in line)
        return gone

    def remove(self, ids: Collection[str]) -> int:
        """Remove, in every scope, the traces that mention one of some ids; return how many went.

        Ids of records or captures, whole. An id counts as mentioned wherever it stands, also when
        its beginning was given for it.
        """
        gone = 0
        with self._lock:
            self._write()
            for scope in list(self._open):
                self._release(scope)
            directories = sorted(self._root.iterdir()) if self._root.is_dir() and ids else []
            for directory in directories:
                for path in sorted(directory.glob(f"*{_SUFFIX}")):
                    gone += _rewritten(path, lambda line: not _mentions(line, ids))
        return gone

    def prune(self) -> None:
        """Remove, in every scope, the segments that hold only what is too old."""
        with self._lock, suppress(OSError):
            for directory in self._root.iterdir() if self._root.is_dir() else ():
                self._prune(sorted(directory.glob(f"*{_SUFFIX}")))

    def _write(self) -> None:
        """Write what was taken, by scope; what no disk takes is given up."""
        taken, self._pending = self._pending, []
        for scope in dict.fromkeys(scope for scope, _, _ in taken):
            own = [(trace_id, line) for of, trace_id, line in taken if of == scope]
            with suppress(OSError):
                while own:
                    segment = self._segment(scope, own[0][0])
                    some = own[: self._in_segment - segment.traces]
                    own = own[len(some) :]
                    segment.traces += len(some)
                    os.write(segment.descriptor, b"".join(line for _, line in some))

    def _segment(self, scope: str, trace_id: str) -> "_Segment":
        """Return the segment that takes a trace, a new one when that before is full or old."""
        segment = self._open.get(scope)
        if segment is not None and not os.fstat(segment.descriptor).st_nlink:
            self._release(scope)  # somebody removed the file
            segment = None
        segment = segment or self._newest_segment(scope)
        if segment is None or segment.traces >= self._in_segment or _is_past(segment, trace_id):
            self._release(scope)
            path = self._directory(scope) / f"{trace_id}{_SUFFIX}"
            make_private_directory(path.parent)
            self._make_room(self._segments(scope))
            segment = _Segment(path, os.open(path, _FLAGS, 0o600), 0)
        self._open.pop(scope, None)
        self._open[scope] = segment  # the last one to be released
        for other in list(self._open)[:-_OPEN]:
            self._release(other)
        return segment

    def _newest_segment(self, scope: str) -> "_Segment | None":
        segments = self._prune(self._segments(scope))
        if not segments:
            return None
        path = segments[-1]
        return _Segment(path, os.open(path, _FLAGS, 0o600), len(_lines(path)))

    def _release(self, scope: str) -> None:
        segment = self._open.pop(scope, None)
        if segment is not None:
            os.close(segment.descriptor)

    def _make_room(self, segments: list[Path]) -> None:
        """Remove what is too old, and so many of the oldest that a new segment fits."""
        segments = self._prune(segments)
        counts = [len(_lines(path)) for path in segments]
        while counts and sum(counts) + self._in_segment > self._most:
            segments.pop(0).unlink(missing_ok=True)
            counts.pop(0)

    def _prune(self, segments: list[Path]) -> list[Path]:
        """Remove what is too old; a segment is filled for a day at the most."""
        left = [path for path in segments if _ms(path.stem) + _DAY >= int(self._oldest())]
        for path in segments[: len(segments) - len(left)]:
            path.unlink(missing_ok=True)
        return left

    def _segments(self, scope: str) -> list[Path]:
        """Return the segments of a scope, oldest first."""
        found = self._directory(scope).glob(f"*{_SUFFIX}")
        return sorted(path for path in found if is_trace_id(path.stem))

    def _directory(self, scope: str) -> Path:
        return self._root / hashlib.sha256(scope.encode()).hexdigest()[:32]

    def _oldest(self) -> str:
        """Return what the ids of all traces that are young enough do not sort before."""
        return f"{max(0, now_ms() - self._days * _DAY):013d}"


def new_trace_id() -> str:
    """Return a fresh id: 24 digits, of which 13 are the milliseconds since 1970.

    Later ones sort later. Digits, because token counters cut them in threes, whatever they are: an
    answer costs the same with any id in it.
    """
    global _last_id
    with _id_lock:
        fresh = now_ms() * _TAIL + secrets.randbelow(_TAIL // 10)
        if fresh // _TAIL == _last_id // _TAIL:
            fresh = _last_id + 1 + secrets.randbelow(1000)
        _last_id = fresh
    return f"{fresh:024d}"


def now_ms() -> int:
    """Return the milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def _encoded(content: Content) -> bytes:
    try:
        return to_json(content)
    except ValueError:  # half a surrogate pair, which has no UTF-8 form
        return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")


def _is_past(segment: _Segment, trace_id: str) -> bool:
    return _ms(trace_id) - _ms(segment.path.stem) >= _DAY


def _ms(trace_id: str) -> int:
    return int(trace_id[:13])


def _lines(path: Path) -> list[bytes]:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    return [part for part in content.split(_SEPARATOR) if part.endswith(_END)]


def _rewritten(path: Path, keep: Callable[[bytes], bool]) -> int:
    """Leave in a segment what is to be kept; return how many traces went."""
    lines = _lines(path)
    kept = [line for line in lines if keep(line)]
    if not kept:
        path.unlink(missing_ok=True)
    elif len(kept) < len(lines):
        write_atomically(path, b"".join(_SEPARATOR + line for line in kept))
    return len(lines) - len(kept)


def _mentions(line: bytes, ids: Collection[str]) -> bool:
    if any(id_.encode() in line for id_ in ids):
        return True
    short = {word.decode().upper() for word in _SHORT.findall(line)}
    return any(id_[:length] in short for id_ in ids for length in range(LEAST_SHORT, len(id_)))


def _read(path: Path, holding: str = "") -> Iterator[Content]:
    """Yield the traces of a segment that hold a word, in order; what is torn is passed over."""
    word = holding.encode()
    for line in _lines(path):
        if word not in line:
            continue
        with suppress(ValueError, TypeError, KeyError):
            one = json.loads(line)
            if is_trace_id(one["id"]):
                yield one

"""The backups that a home keeps by itself: where they lie, which stay, and when one is due."""

import json
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from shiyi.lifecycle.snapshots import MANIFEST
from shiyi.store import Store, encode_json

DIRECTORY = "backups"
SEALED_SUFFIX = ".sealed"
PARTIAL = ".partial"  # the end of what is still being written
LATEST, DAILY, WEEKLY = 3, 7, 4
_LAST, _ELSEWHERE = "backup", "backups_elsewhere"
_PLACES_KEPT = 50
_NAME = re.compile(r"shiyi-(?P<time>\d{8}T\d{6}Z)-\d+(?:-\d+)?(?:\.sealed)?")


@dataclass(frozen=True, slots=True)
class Kept:
    """A finished backup: its path, when it was made, and whether it is encrypted."""

    path: Path
    made: datetime
    sealed: bool


def name_for(now: datetime, seq: int) -> str:
    """Return the name of a backup made now."""
    return f"shiyi-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{seq}"


def kept_in(directory: Path) -> list[Kept]:
    """Return the backups of a directory by their names, oldest first."""
    found = []
    for path in directory.iterdir() if directory.is_dir() else ():
        match = _NAME.fullmatch(path.name)
        if match and not path.is_symlink():
            made = datetime.strptime(match["time"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
            found.append(Kept(path, made, path.name.endswith(SEALED_SUFFIX)))
    return sorted(found, key=lambda one: (one.made, one.path.name))


def to_remove(kept: Iterable[Kept]) -> list[Kept]:
    """Return those that need not stay.

    The newest 3 stay, the newest of each of the last 7 days that have any, and of each of the last
    4 weeks: a second one on a day does not take the one that may be wanted back an hour later.
    """
    newest_first = sorted(kept, key=lambda one: (one.made, one.path.name), reverse=True)
    days: dict[object, Kept] = {}
    weeks: dict[object, Kept] = {}
    for one in newest_first:
        days.setdefault(one.made.date(), one)
        weeks.setdefault(one.made.isocalendar()[:2], one)
    stay = [*newest_first[:LATEST], *list(days.values())[:DAILY], *list(weeks.values())[:WEEKLY]]
    return [one for one in newest_first if one not in stay]


def remove(path: Path) -> None:
    """Remove a backup; what is half removed has the name of one that is still being written.

    Raises OSError when something of it stays.
    """
    if path.is_dir() and not path.is_symlink():
        if not path.name.endswith(PARTIAL):
            path = path.rename(path.with_name(f".{path.name}{PARTIAL}"))
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def sweep(directory: Path) -> None:
    """Remove what interrupted writing and removing left in a directory of ours.

    Raises OSError when something of it stays.
    """
    if directory.is_dir():
        halves = [one.path for one in kept_in(directory) if not one.sealed]
        halves = [path for path in halves if not (path / MANIFEST).exists()]
        for path in (*directory.glob(f".*{PARTIAL}"), *halves):
            remove(path)


def note_backup(store: Store, path: Path, seq: int, *, managed: bool) -> None:
    """Note that a backup was made, and where it lies when it is not one of ours."""
    last = {"at": datetime.now(UTC).isoformat(), "seq": seq}
    store.keep_note(_LAST, encode_json(last))
    if not managed:
        places = [place for place in elsewhere(store) if place != str(path)]
        store.keep_note(_ELSEWHERE, encode_json([*places, str(path)][-_PLACES_KEPT:]))


def elsewhere(store: Store) -> list[str]:
    """Return where backups were written that we do not manage."""
    places: list[str] = json.loads(store.note(_ELSEWHERE) or "[]")
    return places


def due(store: Store, days: int, *, now: datetime | None = None) -> str | None:
    """Return a sentence when changes have waited longer than `days` for a backup, else None."""
    last = json.loads(store.note(_LAST) or "null")
    oldest = store.past.first_unsaved(last["seq"] if last else 0)
    if oldest is None or (now or datetime.now(UTC)) - oldest < timedelta(days=days):
        return None
    since = f"the last one is of {last['at'][:10]}" if last else "there was none so far"
    return (
        f"A backup is due: changes from {oldest.date().isoformat()} on are in no backup, and "
        f"{since}. Run `shiyi backup`."
    )

"""What stands in a scope, kept in memory, and brought up to date by what changed since.

After a write only what it changed is read. What is found out about all records (`once`) says how
it follows such news; what does not say it, or cannot follow, is found out again when it is asked
for. Either way it is what a fresh look at the store would give.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

from shiyi.retrieval.asof import Periods, Standing
from shiyi.retrieval.news import News, columns_after, periods_after, put_in
from shiyi.store import Record, Store
from shiyi.store.rows import SEARCHED

T = TypeVar("T")
_AT_ONCE = 4  # rolls kept in memory
_RECORDS = 4096  # read last, of each roll
_FEW = 1000  # changes that are followed; for more of them all is read again
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# How what was found out follows news of the standing given; None for what cannot.
Follow = Callable[[T, Standing, News], T | None]


class Standings:
    """Reads rolls and keeps the last few."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: dict[tuple[str, datetime | None], Standing] = {}

    def at(
        self,
        scope: str,
        *,
        as_of: datetime | None = None,
        now: datetime,
        seen: datetime | None = None,
    ) -> Standing:
        """Return the records of a scope as they stand, or stood as of a time.

        What has expired, and what is due, is so as of that time, or else when it is `seen`.
        """
        with self._store.still():
            kept = self._kept.pop((scope, as_of), None)
            standing = None if kept is None else self._followed(kept)
            if standing is None:
                standing = self._read(scope, as_of)
            self._kept[scope, as_of] = standing
            while len(self._kept) > _AT_ONCE:
                del self._kept[next(iter(self._kept))]
        return replace(standing, moment=seen or as_of or now)

    def went_on(self, scope: str, seq: int) -> datetime | None:
        """Return the time of a change, if anything that maps show was written since, or None."""
        if seq >= self._store.last_seq:
            return None
        changes = self._store.changes_since(scope, seq)
        if not any(one.what in SEARCHED or one.what == "purge" for one in changes):
            return None
        return self._store.past.time_of(seq)

    def once(
        self, standing: Standing, name: str, read: Callable[[], T], follow: Follow[T] | None = None
    ) -> T:
        """Return what `read` finds out about all that stands, and keep it."""
        if name in standing.worked_out:
            known: T = standing.worked_out[name][0]
            return known
        with self._store.still():
            found = read()
            if self._store.last_seq == standing.seq:
                standing.worked_out[name] = found, follow
        return found

    def read(self, standing: Standing, places: Collection[int]) -> dict[int, Record]:
        """Return the records at these places, whole, as they stood."""
        known = self.once(standing, "records", dict[str, Record], _follow_records)
        ids = {place: standing.id(place) for place in places}
        missing = [id_ for id_ in ids.values() if id_ not in known]
        found = self._store.heads(standing.scope, missing, as_of=standing.as_of)
        if len(known) + len(found) > _RECORDS:
            found |= {id_: known[id_] for id_ in ids.values() if id_ in known}
            known.clear()
        known |= found
        return {place: known[id_] for place, id_ in ids.items() if id_ in known}

    # Following the store

    def _read(self, scope: str, as_of: datetime | None) -> Standing:
        rolls = self._store.rolls
        columns, phases = rolls.read(scope, as_of), rolls.phases(scope, as_of)
        return Standing(
            scope=scope, as_of=as_of, moment=_EPOCH, columns=columns, phase_names=phases,
            periods=Periods.of(columns, phases), masks={}, seq=self._store.last_seq, worked_out={},
        )  # fmt: skip

    def _followed(self, kept: Standing) -> Standing | None:
        """Return what was kept as it stands now, or None when it is to be read again."""
        last = self._store.last_seq
        if kept.seq == last:
            return kept
        changed: dict[str, Counter[str]] = defaultdict(Counter)
        for change in self._store.changes_since(kept.scope, kept.seq):
            changed[change.what][change.id] += 1
        if "purge" in changed or sum(len(changed[what]) for what in SEARCHED) > _FEW:
            return None
        if not any(changed[what] for what in SEARCHED):
            return replace(kept, seq=last)
        if kept.as_of is None:
            return self._patched(kept, changed)
        if changed["unlink"] or self._is_of_then(kept, changed["record"]):
            return None
        return _told(replace(kept, seq=last), News(touched=self._touched(kept.scope, changed)))

    def _patched(self, kept: Standing, changed: Mapping[str, Counter[str]]) -> Standing:
        """Return what stands now, from what was kept and what changed."""
        store, scope = self._store, kept.scope
        versions = store.versions_of(scope, sorted(changed["record"]))
        known = _known(kept, versions)
        fresh = versions.keys() - known.keys()  # which may have had links before
        linked = changed["link"].keys() | changed["unlink"].keys() | fresh
        news = News(
            touched=self._touched(scope, changed),
            before={
                id_: next(one for one in versions[id_] if one.version == number)
                for id_, number in known.items()
            },
            after={id_: own[-1] for id_, own in versions.items()},
            fresh=put_in(kept["id"], fresh),
            links=store.links_in_order(scope, sorted(linked)),
            came=changed["link"],
            cut=bool(changed["unlink"]),
        )
        names = self._phase_names(kept, (one for own in versions.values() for one in own))
        numbers = {name: number for number, name in names.items()}
        columns = columns_after(kept.columns, news, linked, numbers)
        periods = periods_after(kept.periods, columns, news) or Periods.of(columns, names)
        standing = replace(
            kept, columns=columns, phase_names=names, periods=periods, masks={}, seq=store.last_seq
        )
        return _told(standing, news)

    def _phase_names(self, kept: Standing, versions: Iterable[Record]) -> dict[int, str]:
        """Return the phases that were ever named, by name, with those of some versions."""
        known = set(kept.phase_names.values())
        fresh = {one.phase for one in versions if one.phase is not None} - known
        if not fresh:
            return kept.phase_names
        added = {self._store.rolls.phase_number(name): name for name in fresh}
        return dict(sorted((kept.phase_names | added).items(), key=lambda named: named[1]))

    def _touched(self, scope: str, changed: Mapping[str, Counter[str]]) -> set[str]:
        """Return the records that changed or have other links, and those that quote new words."""
        quoting = self._store.links_to(scope, sorted(changed["capture"]), rels=["quotes"])
        touched = {id_ for what in ("record", "link", "unlink") for id_ in changed[what]}
        return touched | {link.src for own in quoting.values() for link in own}

    def _is_of_then(self, kept: Standing, records: Collection[str]) -> bool:
        """Tell whether what was written since belongs to the time as of which it stands.

        So it is with what was taken in with the times that it had, and when that time is to come.
        """
        as_of, first = kept.as_of, self._store.past.first_unsaved(kept.seq)
        assert as_of is not None
        versions = self._store.versions_of(kept.scope, sorted(records))
        known = _known(kept, versions)
        return (first is not None and first <= as_of) or any(
            one.updated_at <= as_of and one.version > known.get(id_, 0)
            for id_, own in versions.items()
            for one in own
        )


def _told(standing: Standing, news: News) -> Standing:
    """Return what stands with what was found out about it, as far as that follows the news."""
    followed = {}
    for name, (found, follow) in list(standing.worked_out.items()):
        now = None if follow is None else follow(found, standing, news)
        if now is not None:
            followed[name] = now, follow
    return replace(standing, worked_out=followed)


def _known(kept: Standing, ids: Iterable[str]) -> dict[str, int]:
    """Return the versions that are known of the records among `ids` that stand."""
    places = kept.places(sorted(ids))
    return dict(zip(kept["id"][places].tolist(), kept["version"][places].tolist(), strict=True))


def _follow_records(known: dict[str, Record], _: Standing, news: News) -> dict[str, Record]:
    return known | {id_: one for id_, one in news.after.items() if id_ in known}

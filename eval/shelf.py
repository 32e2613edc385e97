"""The documents of a set, put into a memory as they became known."""

import json
import tempfile
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, time, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

from shiyi.core.dates import parse_day_range
from shiyi.core.errors import UsageError
from shiyi.eval.dataset import Dataset, Document, Query, View
from shiyi.eval.door import Door
from shiyi.eval.readers.directory import ARCHIVE
from shiyi.eval.readers.files import printable

_BASE = "set"
_NOWHERE = "none"  # the scope of queries that name one without documents
_SOMETIME = datetime(2026, 1, 1, tzinfo=UTC)  # "now" for sets without any date
_DAY_LENGTH = len("2026-01-01")
_Asked = tuple[View, Query]


class Shelf:
    """What systems may see by now: the memory behind the door, and the plain documents.

    Each scope of the set is a scope of the memory, unless queries are asked of all together.
    """

    def __init__(self, dataset: Dataset, door: Door, *, together: bool) -> None:
        """Start empty; `add` brings documents."""
        self._dataset, self.door, self._together = dataset, door, together
        scopes = sorted({document.scope for document in dataset.documents if document.scope})
        self._scopes = {} if together else {name: f"s{n}" for n, name in enumerate(scopes)}
        self._documents: dict[str, list[Document]] = defaultdict(list)
        self._names: dict[str, tuple[int, Mapping[str, str]]] = {}
        self._sorted: dict[str, tuple[Mapping[str, str], list[str]]] = {}
        self._ordinals: dict[tuple[str | None, str], int] = defaultdict(int)
        self._latest = _latest(dataset.documents)

    def add(self, documents: Sequence[Document]) -> int:
        """Put documents on the shelf, indexed, and return how many texts were embedded for it.

        Raises UsageError when the memory cannot take one of them.
        """
        for document in documents:
            self._documents[self._place(document.scope)].append(document)
        with tempfile.TemporaryDirectory(prefix="shiyi-eval-") as directory:
            for file in self._files(documents, Path(directory)):
                self._take_in(file, directory)
        return self.door.index(dict.fromkeys(self._place(one.scope) for one in documents))

    def _take_in(self, file: Path, directory: str) -> None:
        try:
            self.door.take_in(file, _BASE)
        except UsageError as error:  # the directory is gone by the time that somebody reads this
            reason = str(error).replace(f"{directory}/", "")
            raise UsageError(f"{printable(self._dataset.path)}: {reason}") from None

    def _files(self, documents: Sequence[Document], directory: Path) -> Iterator[Path]:
        if self._dataset.archive:
            names = ARCHIVE  # records quote captures
            there = [f for name in names if (f := self._dataset.path / name).exists()]
            if has_scopes(self._dataset):
                there = [self._renamed(file, directory) for file in there]
            yield from there
            return
        corpus = directory / "corpus.jsonl"
        with corpus.open("w", encoding="utf-8") as file:
            for document in documents:
                file.write(json.dumps(self._line(document), ensure_ascii=False) + "\n")
        yield corpus

    def _renamed(self, file: Path, directory: Path) -> Path:
        """Return a copy of an archive's file in which the scopes have the memory's names."""
        copy = directory / file.name
        with (
            file.open(encoding="utf-8-sig", newline="\n") as lines,
            copy.open("w", encoding="utf-8") as renamed,
        ):
            for line in filter(str.strip, lines):
                content = json.loads(line, strict=False)
                content["scope"] = self._scopes.get(content.get("scope"))
                renamed.write(json.dumps(content, ensure_ascii=False) + "\n")
        return copy

    def _line(self, document: Document) -> dict[str, Any]:
        """Return a document in the form that the importer reads; never its attributes."""
        metadata: dict[str, Any] = {
            "scope": self._scopes.get(document.scope or ""),
            "date": document.date,
            "speaker": document.speaker,
            "session": document.session,
        }
        if document.session is not None:
            name = (document.scope, document.session)
            self._ordinals[name] += 1
            seq = self._ordinals[name] if document.order is None else document.order
            metadata["seq"] = int(seq)
        kept = {name: value for name, value in metadata.items() if value is not None}
        return {"_id": document.id, "text": document.text, "metadata": kept}

    def _place(self, scope: str | None) -> str:
        if scope is None or self._together:
            return _BASE
        return f"{_BASE}.{self._scopes.get(scope, _NOWHERE)}"

    def scope_of(self, query: Query) -> str:
        """Return the memory's scope in which a query is asked."""
        return self._place(query.scope)

    def documents(self, scope: str) -> Sequence[Document]:
        """Return the documents of one of the memory's scopes, in the order they came."""
        return self._documents[scope]

    def names(self, scope: str) -> Mapping[str, str]:
        """Return the ids that the set has for the memory's own."""
        count = len(self._documents[scope])
        known = self._names.get(scope)
        if known is None or known[0] != count:
            known = self._names[scope] = (count, self._named(scope))
        return known[1]

    def _named(self, scope: str) -> Mapping[str, str]:
        """Return the names that are ids of documents; a set may also go by the memory's own ids."""
        ids = {document.id for document in self._documents[scope]}
        names = self.door.names(scope)
        named = {own: own if own in ids else name for own, name in names.items()}
        return {own: name for own, name in named.items() if name in ids}

    def named(self, scope: str, short: Iterable[str]) -> Iterator[str]:
        """Yield the ids that the set has for ids of the memory's own, which may be shortened."""
        names = self.names(scope)
        if self._sorted.get(scope, (None, []))[0] is not names:
            self._sorted[scope] = (names, sorted(names))
        ids = self._sorted[scope][1]
        for id_ in short:
            place = bisect_left(ids, id_)
            if place < len(ids) and ids[place].startswith(id_):
                yield names[ids[place]]

    def now_of(self, query: Query) -> datetime:
        """Return when a query was asked: as it says, else the day after the newest document."""
        return query.now or self._latest


def steps(
    dataset: Dataset, views: Sequence[View]
) -> Iterator[tuple[Sequence[Document], Sequence[_Asked]]]:
    """Yield documents and the queries that are asked once those are there, until all are asked."""
    asked = [(view, query) for view in views for query in view.queries]
    if all(query.order is None for _, query in asked):
        yield dataset.documents, asked
        return
    by_order = sorted(asked, key=lambda one: _order(one[1].order))
    documents = sorted(dataset.documents, key=lambda one: _known_from(one.order))
    position = 0
    for order, some in groupby(by_order, key=lambda one: _order(one[1].order)):
        end = position
        while end < len(documents) and _known_from(documents[end].order) < order:
            end += 1
        yield documents[position:end], list(some)
        position = end


def has_scopes(dataset: Dataset) -> bool:
    """Tell whether documents have scopes, so that there is more than one place to search."""
    return any(document.scope for document in dataset.documents)


def _order(order: float | None) -> float:
    return float("inf") if order is None else order


def _known_from(order: float | None) -> float:
    return float("-inf") if order is None else order


def _latest(documents: Sequence[Document]) -> datetime:
    days = []
    for document in documents:
        with suppress(UsageError):  # a date in words is none to count from
            days.append(parse_day_range((document.date or "")[:_DAY_LENGTH]).end)
    if not days:
        return _SOMETIME
    return datetime.combine(max(days), time(12), UTC) + timedelta(days=1)

"""Judging by hand: pools of documents, and a session that keeps every judgement at once.

A session's directory holds `judgements.jsonl`, one event a line, in the order they were made:

    {"query": "…", "document": "…", "grade": 0 | 1 | 2 | null}    null: skipped
    {"query": "…", "document": "…", "undo": true}                taken back

It holds ids only. Texts leave with `export`, and those of documents only when asked.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from shiyi.core.closable import Closable
from shiyi.core.errors import HomeBusyError, HomeUnwritableError, UsageError
from shiyi.core.files import make_private_directory, owner_only, sync_directory, write_atomically
from shiyi.core.text import encode_text
from shiyi.eval.dataset import Document, Query

GRADES = (0, 1, 2)
JUDGEMENTS_FILE = "judgements.jsonl"
_LOCK_FILE = "lock"
_DEPTH = 10
_HEADER = "query-id\tcorpus-id\tscore\n"
_NOT_IN_IDS = frozenset("\t\r\n")
_UNDONE = -1

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The documents to judge for one query, by id, so that nothing tells who found them where."""

    query: str
    documents: tuple[Document, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What is to be judged next."""

    query: Query
    document: Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How many pairs of a query and a document are judged or skipped, of how many."""

    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What an export wrote; left_out are the queries that are not judged to the end."""

    queries: int
    judgements: int
    left_out: int


def build_pool(
    query: str, rankings: Mapping[str, Sequence[Document]], *, depth: int = _DEPTH
) -> Pool:
    """Return the union of what each system ranked among its first `depth` documents."""
    found = {document.id: document for ranked in rankings.values() for document in ranked[:depth]}
    return Pool(query=query, documents=tuple(found[one] for one in sorted(found)))


def check_target(target: Path) -> None:
    """Raise UsageError when a labelled set cannot be written there, since something is."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is not an empty directory; choose another one.")


class LabelSession(Closable):
    """The judgements of one person, in one directory, for the pools of some queries.

    Queries come in their order, the documents of each in one that the seed gives; neither changes
    when queries or documents are added. What is judged or skipped does not come again.

    Raises HomeBusyError while another session has the directory, UsageError for an id that cannot
    be exported and for a file of judgements that is not ours.
    """

    def __init__(
        self, directory: Path, queries: Iterable[Query], pools: Iterable[Pool], seed: int = 0
    ) -> None:
        self.notes: list[str] = []
        self._queries = {query.id: query for query in queries}
        by_query = {pool.query: pool.documents for pool in pools}
        self._pools = {
            query: sorted(by_query.get(query, ()), key=lambda one: _place(seed, query, one.id))
            for query in self._queries
        }
        for name in self._queries.keys() | {one.id for docs in by_query.values() for one in docs}:
            encode_text(name, "id")
            if not name or not _NOT_IN_IDS.isdisjoint(name):
                raise UsageError("An id is empty or holds a tab or a line break; rename it.")
        self._pairs = dict.fromkeys(
            (query, one.id) for query, documents in self._pools.items() for one in documents
        )
        self._file = make_private_directory(directory) / JUDGEMENTS_FILE
        self._lock = FileLock(directory / _LOCK_FILE, mode=0o600, timeout=0, thread_local=False)
        try:
            self._lock.acquire()
        except Timeout:
            raise HomeBusyError(f"Another session is judging in {directory}; end it.") from None
        try:
            self._judged, self._size = self._replayed()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let another session have the directory; nothing else is pending."""
        self._lock.release()

    @property
    def progress(self) -> Progress:
        """How far the pools are judged."""
        done = len(self._pairs.keys() & self._judged.keys())
        return Progress(done=done, total=len(self._pairs))

    @property
    def grades(self) -> dict[Pair, int]:
        """The grade of each pair of query and document that was judged and not skipped."""
        return {pair: grade for pair, grade in self._judged.items() if grade is not None}

    def next(self) -> Item | None:
        """Return what is to be judged now, or None when all is done."""
        for query, documents in self._pools.items():
            for document in documents:
                if (query, document.id) not in self._judged:
                    return Item(query=self._queries[query], document=document)
        return None

    def judge(self, grade: int | None) -> None:
        """Give what `next` shows a grade, or None to skip it; it is on the disk when this returns.

        Raises UsageError for another grade or when all is done, HomeUnwritableError when it cannot
        be written; it then counts as not given.
        """
        if grade is not None and grade not in GRADES:
            raise UsageError(f"A grade is 0, 1 or 2, not {grade!r}.")
        item = self.next()
        if item is None:
            raise UsageError("Everything is judged.")
        pair = item.query.id, item.document.id
        self._append({"query": pair[0], "document": pair[1], "grade": grade})
        self._judged[pair] = grade

    def undo(self) -> bool:
        """Take the last judgement in these pools back, and tell whether there was one."""
        pair = next((one for one in reversed(self._judged) if one in self._pairs), None)
        if pair is None:
            return False
        self._append({"query": pair[0], "document": pair[1], "undo": True})
        del self._judged[pair]
        return True

    def export(self, target: Path, *, texts: bool = False) -> Exported:
        """Write a labelled set into an empty directory: `queries.jsonl`, `qrels.tsv`.

        Texts of documents (`corpus.jsonl`) are personal and written only when asked. A query is
        left out while a document of its pool is open, and when none was found good but some were
        skipped: whether it has an answer is not known then.

        Raises UsageError when the directory holds something, OSError when it cannot be written.
        """
        check_target(target)
        grades = self.grades
        done = [query for query in self._queries if self._is_known(query)]
        rows = [
            (query, one.id, grades[query, one.id])
            for query in done
            for one in sorted(self._pools[query], key=lambda one: one.id)
            if (query, one.id) in grades
        ]
        make_private_directory(target)
        queries = ({"_id": one, "text": self._queries[one].text} for one in done)
        write_atomically(target / "queries.jsonl", _lines(queries))
        qrels = _HEADER + "".join(f"{query}\t{one}\t{grade}\n" for query, one, grade in rows)
        write_atomically(target / "qrels.tsv", qrels.encode("utf-8"))
        if texts:
            pooled = {one.id: one.text for query in done for one in self._pools[query]}
            corpus = ({"_id": one, "text": pooled[one]} for one in sorted(pooled))
            write_atomically(target / "corpus.jsonl", _lines(corpus))
        left_out = len(self._queries) - len(done)
        return Exported(queries=len(done), judgements=len(rows), left_out=left_out)

    def _is_known(self, query: str) -> bool:
        pairs = [(query, one.id) for one in self._pools[query]]
        if not pairs or any(pair not in self._judged for pair in pairs):
            return False
        given = [self._judged[pair] for pair in pairs]
        return any(given) or None not in given

    def _append(self, event: Mapping[str, Any]) -> None:
        line = _lines([event])
        is_new = not self._file.exists()
        try:
            with owner_only(), self._file.open("ab", buffering=0) as file:
                try:
                    _write_whole(file, line)
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(self._size)
                    raise
            if is_new:
                sync_directory(self._file.parent)
        except OSError as error:
            raise HomeUnwritableError(
                f"The judgement could not be kept in {self._file}: {error.strerror or error}. "
                "It counts as not given."
            ) from None
        self._size += len(line)

    def _replayed(self) -> tuple[dict[Pair, int | None], int]:
        """Return what the file tells, and its size, without a last line that a crash tore."""
        content = self._file.read_bytes() if self._file.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        judged: dict[Pair, int | None] = {}
        for number, line in enumerate(whole.split(b"\n")[:-1], start=1):
            pair, grade = _read_event(line, number, self._file)
            judged.pop(pair, None)  # the last one stands last, for undo
            if grade != _UNDONE:
                judged[pair] = grade
        if len(whole) < len(content):
            os.truncate(self._file, len(whole))
            self.notes.append("The last judgement was torn by a crash and dropped; give it again.")
        return judged, len(whole)


def _read_event(line: bytes, number: int, file: Path) -> tuple[Pair, int | None]:
    try:
        match json.loads(line):
            case {"query": str(query), "document": str(document), "grade": n} if n is None or (
                type(n) is int and n in GRADES
            ):
                return (query, document), n
            case {"query": str(query), "document": str(document), "undo": True}:
                return (query, document), _UNDONE
    except (ValueError, RecursionError):
        pass
    raise UsageError(f"Line {number} of {file} is no judgement; remove it or restore the file.")


def _place(seed: int, query: str, document: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{query}\0{document}".encode("utf-8", "surrogatepass")).digest()


def _lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(_each(rows)).encode("utf-8")


def _each(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Return a line of JSON each; what is not seen, or has no UTF-8 form, stays an escape."""
    for row in rows:
        made = json.dumps(row, ensure_ascii=False)
        yield (made if made.isprintable() else json.dumps(row)) + "\n"


def _write_whole(file: FileIO, line: bytes) -> None:
    if file.write(line) != len(line):
        raise OSError("the disk is full")

"""A set as a directory: corpus.jsonl, queries.jsonl and qrels.tsv, and the same for its views.

Instead of corpus.jsonl there may be captures.jsonl and records.jsonl, the lines that an archive
is imported from. A view V is queries.V.jsonl: other words for the queries of the main view, judged
by qrels.tsv; or, with a qrels.V.tsv of its own, any queries.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from shiyi.core.errors import UsageError
from shiyi.eval.dataset import GLOBAL, MAIN, Document, Query, View, half_of
from shiyi.eval.readers.fields import (
    Parts,
    end_of,
    id_of,
    linked,
    number_of,
    object_of,
    optional_id,
    short,
    text_of,
    words_of,
)
from shiyi.eval.readers.files import Files, printable
from shiyi.eval.readers.strict import Object, parse_object
from shiyi.eval.readers.trec import judgements_in

CORPUS = "corpus.jsonl"
ARCHIVE = ("captures.jsonl", "records.jsonl", "structure.jsonl")
_QUERIES, _QRELS = "queries.jsonl", "qrels.tsv"
_VIEW = re.compile(r"(?:queries|qrels)\.(.+)\.(?:jsonl|tsv)")
_FIRST = 3  # as many ids as a message names


def read_directory(path: Path, files: Files, names: Sequence[str] | None) -> Parts:
    """Return the documents and the views of a set, all or those named.

    Raises UsageError, naming file and line, for anything malformed.
    """
    archive = not exists(path / CORPUS)
    documents = _archive(path, files) if archive else _corpus(path, files)
    found = view_names(path)
    for name in names or ():
        if name not in found:
            raise UsageError(f"{printable(path)}: There is no view {name!r}, only {_list(found)}.")
    main = _view(path, files, MAIN, {one.id for one in documents})
    views = [main]
    for name in found[1:]:
        if names is None or name in names:
            views.append(_other_view(path, files, name, main, documents))
        else:
            files.count_in(path / f"queries.{name}.jsonl")
            if exists(path / f"qrels.{name}.tsv"):
                files.count_in(path / f"qrels.{name}.tsv")
    kept = tuple(view for view in views if names is None or view.name in names)
    return Parts(documents=documents, views=kept, archive=archive)


def view_names(path: Path) -> list[str]:
    """Return the names of the views of a directory, the main one first."""
    files = [*path.glob("queries.*.jsonl"), *path.glob("qrels.*.tsv")]
    found = {match[1] for file in files if (match := _VIEW.fullmatch(file.name))}
    return [MAIN, *sorted(found - {MAIN})]


def _corpus(path: Path, files: Files) -> tuple[Document, ...]:
    return linked(_distinct(_objects(path / CORPUS, files), _document, path / CORPUS))


def _archive(path: Path, files: Files) -> tuple[Document, ...]:
    there = [path / name for name in ARCHIVE if exists(path / name)]
    lines = chain.from_iterable(_objects(file, files) for file in there)
    memories = (line for line in lines if line[1].get("type") != "link")
    return tuple(_distinct(memories, _memory, there[0]))


def _distinct(
    objects: Iterable[Object], make: Callable[[dict[str, Any], str], Document], file: Path
) -> Iterator[Document]:
    seen: set[tuple[str | None, str]] = set()
    for place, content in objects:
        document = make(content, place)
        if (document.scope, document.id) in seen:
            raise UsageError(f"{place}: The id {document.id!r} stands twice in one scope.")
        seen.add((document.scope, document.id))
        yield document
    if not seen:
        raise UsageError(f"{printable(file)}: This holds no documents.")


def _document(content: dict[str, Any], place: str) -> Document:
    metadata = object_of(content, "metadata", place)
    title = words_of(content, "title")
    session = words_of(metadata, "session", "session_id", "conversation", "dialogue")
    return Document(
        id=short(id_of(content, "_id", place), "_id", place),
        text=_titled(content, title, place),
        scope=optional_id(metadata, "scope", place),
        order=number_of(metadata, "seq", place),
        speaker=short(words_of(metadata, "speaker"), "speaker", place),
        date=words_of(metadata, "date"),
        session=short(session, "session", place),
        attributes=metadata,
    )


def _titled(content: dict[str, Any], title: str | None, place: str) -> str:
    """Return the text below its title; a title alone is enough."""
    if title is None:
        return text_of(content, "text", place)
    text = content.get("text")
    if not isinstance(text, str):
        raise UsageError(f"{place}: There is no text.")
    return f"{title}\n{text}" if text.strip() else title


def _memory(content: dict[str, Any], place: str) -> Document:
    """Return a capture or a record as a document; the archive itself reads them more closely."""
    name = next((one for one in ("text", "gist", "title") if content.get(one) is not None), "text")
    return Document(
        id=id_of(content, "id", place),
        text=text_of(content, name, place),
        scope=optional_id(content, "scope", place),
        speaker=words_of(content, "speaker"),
        date=words_of(content, "captured_at", "date", "date_start"),
        session=words_of(content, "session"),
        attributes={key: content[key] for key in content if key not in {"id", name, "scope"}},
    )


def _other_view(
    path: Path, files: Files, name: str, main: View, documents: Sequence[Document]
) -> View:
    if exists(path / f"qrels.{name}.tsv"):
        return _view(path, files, name, {one.id for one in documents})
    file = path / f"queries.{name}.jsonl"
    queries = tuple(_queries(file, files, name))
    ids, known = {query.id for query in queries}, {query.id for query in main.queries}
    for some, what in ((known - ids, "lacks queries of"), (ids - known, "has queries beside")):
        if some:
            raise UsageError(
                f"{printable(file)}: This view {what} {_QUERIES}, {len(some)} in all: "
                f"{_list(sorted(some))}."
            )
    return View(name=name, queries=queries, judgements=main.judgements)


def _view(path: Path, files: Files, name: str, documents: Collection[str]) -> View:
    infix = "" if name == MAIN else f".{name}"
    queries = tuple(_queries(path / f"queries{infix}.jsonl", files, name))
    judgements: dict[str, dict[str, int]] = {query.id: {} for query in queries}
    for place, query, document, grade in judgements_in(path / f"qrels{infix}.tsv", files):
        if query not in judgements:
            raise UsageError(f"{place}: There is no query {query!r}.")
        if document not in documents:
            raise UsageError(f"{place}: There is no document {document!r}.")
        judgements[query][document] = grade
    return View(name=name, queries=queries, judgements=judgements)


def _queries(file: Path, files: Files, view: str) -> Iterator[Query]:
    seen: set[str] = set()
    for place, content in _objects(file, files):
        query = _query(content, place, view)
        if query.id in seen:
            raise UsageError(f"{place}: The id {query.id!r} stands twice.")
        seen.add(query.id)
        yield query
    if not seen:
        raise UsageError(f"{printable(file)}: This holds no queries.")


def _query(content: dict[str, Any], place: str, view: str) -> Query:
    metadata = object_of(content, "metadata", place)
    name = id_of(content, "_id", place)
    return Query(
        id=name,
        text=text_of(content, "text", place),
        scope=None if view == GLOBAL else optional_id(metadata, "scope", place),
        order=number_of(metadata, "seq", place),
        now=end_of(words_of(metadata, "date")),
        category=words_of(metadata, "category"),
        half=words_of(metadata, "half") or half_of(name),
        attributes=metadata,
    )


def _objects(file: Path, files: Files) -> Iterator[Object]:
    return map(parse_object, files.lines(file))


def exists(file: Path) -> bool:
    """Tell whether a file lies there, of whatever kind."""
    return file.exists() or file.is_symlink()


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:_FIRST]))
    return shown if len(names) <= _FIRST else f"{shown}, …"

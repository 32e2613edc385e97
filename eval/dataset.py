"""A labelled set: documents, queries, and which documents answer which query."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

MAIN = "main"
GLOBAL = "global"  # the view in which every query searches all scopes


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document of a corpus, or the part of one that has an id of its own.

    An id is unique within its scope. order tells when it was known, in sets that say so; a query
    with an order sees only what came before. previous is the id of the turn before it in the same
    conversation. attributes are for those who study a result: they may give answers away, so no
    index ever sees them. What may be indexed beside the text has a field of its own.
    """

    id: str
    text: str
    scope: str | None = None
    order: float | None = None
    speaker: str | None = None
    date: str | None = None
    session: str | None = None
    previous: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question. A query with a scope searches only that one; now is when it was asked.

    half is "tune" or "confirm": settings are chosen on the one and checked on the other.
    """

    id: str
    text: str
    scope: str | None = None
    order: float | None = None
    now: datetime | None = None
    category: str | None = None
    half: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The queries of a set in one wording, with their judgements: query id → document id → grade.

    A query without a judgement above zero has no answer.
    """

    name: str
    queries: tuple[Query, ...]
    judgements: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A labelled set as it lies in a directory; sha256 is over all files that it is read from.

    archive: its documents are captures and records, which the archive's own importer takes from
    path. notes say what was left out of a public set, and why.
    """

    name: str
    path: Path
    licence: str
    documents: tuple[Document, ...]
    views: tuple[View, ...]
    sha256: str
    archive: bool = False
    notes: tuple[str, ...] = ()


def half_of(query_id: str) -> str:
    """Return the half that a query belongs to when its set does not say so."""
    return "confirm" if hashlib.sha256(query_id.encode()).digest()[-1] % 2 else "tune"

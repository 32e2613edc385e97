"""A labelled set: documents, queries, and which documents answer which query."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

MAIN = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document of a corpus, or the part of one that has an id of its own.

    order tells when it was known, in sets that say so; a query with an order sees only what came
    before. previous is the id of the turn before it in the same conversation.
    """

    id: str
    text: str
    scope: str | None = None
    order: float | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question. A query with a scope searches only that one; now is when it was asked."""

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
    """A labelled set as it lies in a directory; sha256 is over all files that it is read from."""

    name: str
    path: Path
    licence: str
    documents: tuple[Document, ...]
    views: tuple[View, ...]
    sha256: str

"""Judgements and runs in TREC's columns, or in three: query, document, grade or score."""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from shiyi.core.errors import UsageError
from shiyi.eval.readers.files import Files, Line

_GRADE = re.compile(r"[+-]?[0-9]{1,3}")  # trec_eval takes memory by the highest grade
_SCORE = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?[A-Za-z]+")
_HEADERS = frozenset({"query-id", "query_id", "query", "qid", "topic"})
_OURS = 3
_QRELS = 4
_RUN = (5, 6)  # the tag at the end of a line may be missing


class Judgement(NamedTuple):
    """One line of a file of judgements."""

    place: str
    query: str
    document: str
    grade: int


def read_run(path: Path, files: Files) -> dict[str, list[str]]:
    """Return query id → document ids, best first: by score, and where that ties, as in the file.

    Raises UsageError, naming file and line, for anything that is no result, and for a score that
    is not finite.
    """
    found: dict[str, list[tuple[float, str]]] = {}
    for place, columns in _rows(path, files):
        if len(columns) == _OURS:
            query, document, score = columns
        elif len(columns) in _RUN:
            query, _, document, _, score = columns[:5]
        else:
            raise UsageError(
                f"{place}: A result is query, document and score, or the six columns of TREC."
            )
        found.setdefault(query, []).append((-_score(score, place), document))
    return {
        query: [document for _, document in sorted(results, key=lambda one: one[0])]
        for query, results in found.items()
    }


def judgements_in(path: Path, files: Files) -> Iterator[Judgement]:
    """Yield the judgements of a file; one that is repeated counts once.

    Raises UsageError, naming file and line, for anything else, and for two grades of one document.
    """
    seen: dict[tuple[str, str], int] = {}
    for place, columns in _rows(path, files):
        if len(columns) == _OURS:
            query, document, written = columns
        elif len(columns) == _QRELS:
            query, _, document, written = columns
        else:
            raise UsageError(
                f"{place}: A judgement is query, document and grade, or the four columns of TREC."
            )
        if not _GRADE.fullmatch(written):
            raise UsageError(f"{place}: The grade {written!r} is not a whole number up to 999.")
        grade = max(int(written), 0)
        if seen.setdefault((query, document), grade) != grade:
            raise UsageError(f"{place}: {document!r} has another grade for {query!r} before.")
        yield Judgement(place, query, document, grade)


def _rows(path: Path, files: Files) -> Iterator[tuple[str, list[str]]]:
    for number, line in enumerate(files.lines(path)):
        columns = _columns(line)
        if number == 0 and columns[0].casefold() in _HEADERS:
            continue
        if not all(columns):
            raise UsageError(f"{line.place}: A column is empty.")
        yield line.place, columns


def _columns(line: Line) -> list[str]:
    if "\t" in line.text:
        return [column.strip() for column in line.text.split("\t")]
    return line.text.split()


def _score(written: str, place: str) -> float:
    try:
        score = float(written) if _SCORE.fullmatch(written) else None
    except ValueError:
        score = None
    if score is None:
        raise UsageError(f"{place}: The score {written!r} is not a number.")
    if not math.isfinite(score):
        raise UsageError(f"{place}: The score {written} is not finite.")
    return score

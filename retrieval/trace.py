"""Collecting what a call does, on its way, for next to nothing; off, for nothing at all.

A retrieval function takes a `Tracer` and tells it what it reads, ranks and chooses.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict
from math import isfinite
from typing import Any

import numpy as np

from shiyi.indexer.index import ScopeIndex
from shiyi.indexer.segment import Array
from shiyi.models.calibration import Calibration
from shiyi.retrieval.fuse import Evidence, Fused
from shiyi.retrieval.query import Asked
from shiyi.retrieval.results import PARTS, Basis, TimeRead
from shiyi.retrieval.traced import Fate
from shiyi.retrieval.when import Reading

_RANKED = 20  # of the fused ranking
_OF_CHANNEL = 8
_TERMS = 64
_LEFT_OUT = 100  # ids for each reason; the others are counted
_PARTS = ("score", *PARTS)
_DIGITS = 4
_BLOCK = 64
_TINY = 1e-9
_UNTIMED = nullcontext()


class Tracer:
    """What one call told so far. Every method returns at once when it is not `on`."""

    def __init__(self, *, on: bool) -> None:
        self.on = on
        self.id: str | None = None  # under which it will be kept
        self.name = "asked"  # of the next question
        self.wording: str | None = None  # what stands for its text where that holds stored words
        self.notes: list[str] = []
        self.questions: list[dict[str, Any]] = []
        self.engine: dict[str, Any] | None = None
        self.chosen: list[str] = []
        self._forms: dict[str, str] = {}
        self._left_out: dict[str, list[str]] = {}
        self._omitted: dict[str, int] = {}
        self._same: dict[str, str] = {}
        self._stages: dict[str, float] = {}
        self._began = time.perf_counter() if on else 0.0

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Count the time of the block under a name."""
        return self._timed(name) if self.on else _UNTIMED

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            took = time.perf_counter() - start
            self._stages[name] = self._stages.get(name, 0.0) + took

    def uses(self, index: ScopeIndex, calibration: Calibration | None) -> None:
        """Note what answers; the calibration is None when no vectors take part."""
        if not self.on:
            return
        generation = index.generation
        self.engine = {
            "model": calibration.model if calibration else None,
            "calibration": calibration.digest if calibration else None,
            "generation": generation.directory.name if generation else None,
            "sequence": index.seq,
            "documents": len(index),
        }

    def ranked(
        self, asked: Asked, index: ScopeIndex, slots: Array, evidence: Evidence, fused: Fused,
        *, basis: Basis, hybrid: bool, margin: float, answered: bool, least: float,
    ) -> None:  # fmt: skip
        """Note a question and its best candidates.

        margin: by how much the evidence lies above the floor; answered: what is found is shown.
        least is the share of the best score under which a candidate is junk.
        """
        if not self.on:
            return
        best = _best(fused.score, _RANKED)
        channels = {
            name: (values, _best(values, _OF_CHANNEL))
            for name, values, some in (
                ("meaning", evidence.cosine, hybrid),
                ("words", evidence.bm25, fused.best_bm25 > 0),
                ("identifiers", evidence.exact, bool(evidence.exact.any())),
                ("time", evidence.time, bool(asked.times)),
            )
            if some
        }
        ids = _ids(index, slots, [best, *(places for _, places in channels.values())])
        self.questions.append({
            "name": self.name, "text": asked.text if self.wording is None else self.wording,
            "terms": sorted(set(asked.terms))[:_TERMS] if self.wording is None else [],
            "times": [time_read(time).model_dump() for time in asked.times],
            "remark": asked.remark, "by_meaning": asked.by_meaning, "known": margin >= 0,
            "margin": round(margin, _DIGITS) if isfinite(margin) else None,
            "mode": "hybrid" if hybrid else "keyword",
            "filtered": len(index) - evidence.searched,
            "basis": asdict(basis),
            "channels": {
                name: _scored(ids, places, values)
                for name, (values, places) in channels.items() if len(places)
            },
            "ranking": _ranking(ids, best, fused, answered=answered, least=least),
        })  # fmt: skip

    def says(self, sentence: str) -> None:
        """Note how the call was understood, in a sentence without stored words."""
        if self.on:
            self.notes.append(sentence)

    def chose(self, ids: Iterable[str]) -> None:
        """Note what is shown, in order."""
        if self.on:
            known = set(self.chosen)
            self.chosen += [id_ for id_ in dict.fromkeys(ids) if id_ not in known]

    def stepped_down(self, forms: Mapping[str, str]) -> None:
        """Note what is shown in a smaller form than it could have, by id."""
        if self.on:
            self._forms.update(forms)

    def same_words(self, shown: Mapping[str, str]) -> None:
        """Note, by id, the one of the same words that is shown in its place."""
        if self.on:
            self._same.update(shown)

    def left_out(self, why: Fate, ids: Iterable[str]) -> None:
        """Note what was ranked high enough and yet is not shown."""
        if self.on and (given := list(ids)):
            self._omitted[why] = self._omitted.get(why, 0) + len(given)
            known = self._left_out.setdefault(why, [])
            known += given[: max(0, _LEFT_OUT - len(known))]

    def told(self) -> dict[str, Any]:
        """Return everything, as JSON can hold it."""
        fates: dict[str, str] = dict.fromkeys(self._same, "same words")
        for why, ids in self._left_out.items():
            fates.update(dict.fromkeys(ids, why))
        fates.update(dict.fromkeys(self.chosen, "chosen"))
        fates.update(dict.fromkeys(self._forms, "stepped down"))
        for question in self.questions:
            for line in question["ranking"]:
                line["fate"] = fates.get(line["id"], line["fate"])
                if line["fate"] == "same words":
                    line["of"] = self._same[line["id"]]
        took = {**self._stages, "all": time.perf_counter() - self._began}
        return {
            "notes": self.notes, "questions": self.questions, "chosen": self.chosen,
            "stepped_down": self._forms,
            "left_out": self._left_out,
            "omitted": self._omitted,
            "stages": {name: round(1000 * seconds, 3) for name, seconds in took.items()},
        }  # fmt: skip


SILENT = Tracer(on=False)


def time_read(time: Reading) -> TimeRead:
    """Return what a time word was read as, for an answer."""
    first, last = time.intervals[0]
    return TimeRead(
        text=time.text,
        start=None if first is None else first.isoformat(),
        end=None if last is None else last.isoformat(),
        certain=time.certain,
    )


def basis_of(evidence: Evidence, fused: Fused) -> Basis:
    """Return what the scores of a question were measured by."""
    some = bool(evidence.embedded.any())
    return Basis(
        searched=evidence.searched,
        spread=round(fused.spread, 4) if some else None,
        gate=round(fused.gate, 4),
        best_bm25=round(fused.best_bm25, 4),
        best_cosine=round(float(evidence.cosine[evidence.embedded].max()), 4) if some else None,
    )


def _best(values: Array, most: int) -> Array:
    """Return the positions of the largest values above 0, largest first."""
    bound = _TINY
    if len(values) > most * _BLOCK * 2:  # a quick look that spares the sorting of most of them
        blocks = values[: len(values) // _BLOCK * _BLOCK].reshape(-1, _BLOCK).max(axis=1)
        bound = max(bound, np.partition(blocks, -most)[-most])
    places = np.flatnonzero(values >= bound)
    if len(places) > most:
        places = places[np.argpartition(values[places], -most)[-most:]]
    best: Array = places[np.argsort(-values[places], kind="stable")]
    return best


def _ids(index: ScopeIndex, slots: Array, places: Sequence[Array]) -> dict[int, str]:
    """Return the id at each position."""
    wanted = list(dict.fromkeys(np.concatenate(places).tolist()))
    found = index.columns["id"][slots[wanted]].tolist() if wanted else ()
    return {place: id_.decode("ascii") for place, id_ in zip(wanted, found, strict=True)}


def _scored(ids: Mapping[int, str], places: Array, values: Array) -> list[dict[str, Any]]:
    """Return candidates of a channel; of a long text its best fragment."""
    scores = np.round(values[places], _DIGITS).tolist()
    found: dict[str, float] = {}
    for place, score in zip(places.tolist(), scores, strict=True):
        found.setdefault(ids[place], score)
    return [{"id": id_, "score": score} for id_, score in found.items()]


def _ranking(
    ids: Mapping[int, str], best: Array, fused: Fused, *, answered: bool, least: float
) -> list[dict[str, Any]]:
    """Return candidates by score, and why each would not be shown if it were not."""
    parts = np.stack([getattr(fused, name)[best] for name in _PARTS], axis=1)
    speaks = fused.speaks[best].tolist()
    bound = least * float(np.max(fused.score, where=fused.speaks, initial=0.0))
    found: dict[str, dict[str, Any]] = {}
    for place, numbers, says in zip(
        best.tolist(), np.round(parts, _DIGITS).tolist(), speaks, strict=True
    ):
        fate = "limit"
        if not answered:
            fate = "floor"
        elif not says:
            fate = "silent"
        elif numbers[0] < bound:
            fate = "junk"
        line = {"id": ids[place], **dict(zip(_PARTS, numbers, strict=True)), "fate": fate}
        found.setdefault(ids[place], line)
    return list(found.values())

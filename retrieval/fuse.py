"""One score from what words, vectors, identifiers and neighbours say of each document.

Those of the encoder come with its calibration. How all were chosen, and what was tried in their
place, is in docs/decisions/: 0002, and what 0009, 0015, 0016 and 0017 changed of it.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from shiyi.indexer.segment import Array
from shiyi.models.calibration import Calibration
from shiyi.retrieval.succession import Succession

_PRIOR_WEIGHT = 10  # documents; keeps the spread sane in a tiny scope
_ACROSS_LANGUAGES = 0.04  # texts on one subject are that much farther apart in two languages
_OTHER_SCRIPT = 0.5  # difference of Han shares above which two texts cannot share words
_SAME_SCRIPT_HITS = 5
_FROM_PREVIOUS = 0.25
_FROM_NEXT = 0.1
_FROM_QUOTED = 0.5  # what a record and the words that it quotes lend each other
_TIME = 1.5  # to a document of the days that a question names
_TIME_OF_REMARK = 0.375  # a remark names its own time, not always that of what it recalls
_SPEAKING_TIME = 0.5  # of a perfect fit; a mere overlap with another year is none
_TINY = 1e-12
_INTERACTION = 5.0
_INTERACTION_TIMED = 2.5  # a time that is asked for is seldom named by the text
_INTERACTING = 30  # documents, the best by everything else
STEPS = (
    "gate", "other-script", "time", "neighbours", "sources", "interaction", "successors", "names",
)  # fmt: skip
_SUCCESSOR = 0.5
_AHEAD = 1e-6  # of what it replaced
_CHAIN = 16  # records, each of which replaced the one before
_SURE_COVERAGE = 0.6  # of the query in one document: named outright, whatever the vectors say
_FOR_COVERAGE = 0.25  # what else than the cosine tells that something is known, in its unit
_FOR_TIME = 0.2
_FOR_REMARK = 0.06
DOUBT = 0.04  # below the floor: what is nearest is shown, and marked as nothing that stands out
_KEYWORD_FLOOR = 0.1  # without vectors; coverage tells little, so it is low


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of the documents at hand; arrays of one length m, float64 unless said.

    cosine is centred, 0 where `embedded` (bool) is not set. bm25 and coverage come from the
    words, exact (0 to 1) from identifiers, time (0 to 1) from dates. previous (int) is the
    position of the turn before in these arrays, or -1. sources (int, k x 2) are positions of
    records and of fragments that they quote; succession holds positions, too. sample (int) are
    positions that stand for the whole scope, whose number of documents is `searched`; all of
    them, unless the scope is large. timed: the query names a time.
    """

    cosine: Array
    embedded: Array
    bm25: Array
    coverage: Array
    exact: Array
    time: Array
    han: Array
    previous: Array
    sources: Array
    succession: Succession
    sample: Array
    searched: int
    query_han: float
    remark: bool
    timed: bool


@dataclass(frozen=True, slots=True)
class Fused:
    """The parts of each document's score, arrays of length m; `score` is their sum.

    speaks (bool) tells what has something to say for itself. spread is the standard deviation of
    the centred cosines, gate how far the words are believed.
    """

    dense: Array
    lexical: Array
    exact: Array
    time: Array
    neighbour: Array
    source: Array
    interaction: Array
    other_script: Array
    score: Array
    speaks: Array
    spread: float
    gate: float
    best_bm25: float


def fuse(
    evidence: Evidence,
    calibration: Calibration,
    without: Collection[str] = frozenset(),
    *,
    by_meaning: bool = True,
    met: Callable[[Array], Array] | None = None,
) -> Fused:
    """Fuse by the recipe: dense in standard deviations, words as far as their best hit carries.

    score = cosine / (divisor · spread) + gate · BM25 / best BM25 + exact + time
            + neighbour share + source share + interaction

    What replaced a document is brought ahead of it, in its source share.

    A document speaks for itself by a shared word, an identifier, a date or, `by_meaning`, by
    being nearer than the spread; or through what it quotes or what quotes it.

    met: gives for positions how well their tokens meet those of the query, NaN where that is not
    known. without: what of STEPS is left out, to measure what it is worth.
    """
    spread = _spread(evidence, calibration)
    dense = evidence.cosine / (calibration.divisor * spread)
    best_bm25 = float(evidence.bm25.max(initial=0.0))
    gate = _gate(evidence, best_bm25, calibration) if "gate" not in without else 1.0
    lexical = gate * evidence.bm25 / best_bm25 if best_bm25 > 0 else np.zeros_like(evidence.bm25)
    # What is not embedded yet has only its words to speak for what it means.
    lexical += np.where(evidence.embedded, 0.0, lexical * max(0.0, dense.max(initial=0.0)))
    other = np.abs(evidence.han - evidence.query_han) > _OTHER_SCRIPT
    if "other-script" not in without:
        lexical = _other_script(evidence, lexical, other, spread)
    time = evidence.time * (_TIME_OF_REMARK if evidence.remark else _TIME)
    if "time" in without:
        time = np.zeros_like(time)
    own = dense + lexical + evidence.exact + time
    speaks = (evidence.bm25 > 0) | (evidence.exact > 0) | (evidence.time >= _SPEAKING_TIME)
    if by_meaning:
        speaks |= evidence.cosine > spread
    neighbour, source = _lent(own, speaks, evidence, without)
    speaks |= source > 0
    interaction = np.zeros_like(own)
    if met is not None and "interaction" not in without:
        interaction = _interaction(own + neighbour + source, evidence, met)
        neighbour, source = _lent(own + interaction, speaks, evidence, without)
    score = own + interaction + neighbour + source
    if "successors" not in without:
        ahead = _brought_ahead(score, speaks, evidence.succession)
        source, score = source + ahead, score + ahead
    return Fused(
        dense=dense,
        lexical=lexical,
        exact=evidence.exact,
        time=time,
        neighbour=neighbour,
        source=source,
        interaction=interaction,
        other_script=other,
        score=score,
        speaks=speaks | (source > 0),
        spread=spread,
        gate=gate,
        best_bm25=best_bm25,
    )


def margin(evidence: Evidence, calibration: Calibration) -> float:
    """Return by how much the evidence that the scope knows of the query lies above the floor.

    The best cosine counts, and with it how much of the query one document holds, whether there is
    anything of the time that it names, and whether it is a remark, which is less pointed. The best
    of n unrelated cosines grows with n, so the floor does too; it is lower where the nearest text
    is in another script than the query. An exact identifier, or a document that holds nearly all
    that the query asks for, is an answer whatever the vectors say: infinity. From zero on it is
    known; down to -DOUBT it is doubtful.
    """
    coverage = float(evidence.coverage.max(initial=0.0))
    if evidence.exact.any() or coverage >= _SURE_COVERAGE:
        return float("inf")
    if not evidence.embedded.any():
        return coverage - _KEYWORD_FLOOR
    nearest = int(np.where(evidence.embedded, evidence.cosine, -np.inf).argmax())
    grown = calibration.floor_slope * max(0.0, np.log2(max(evidence.searched, 1) / 100))
    floor = calibration.floor + grown
    if abs(evidence.han[nearest] - evidence.query_han) > _OTHER_SCRIPT:
        floor -= _ACROSS_LANGUAGES
    timely = float(evidence.time.max(initial=0.0)) >= _SPEAKING_TIME
    support = _FOR_COVERAGE * coverage + _FOR_TIME * timely + _FOR_REMARK * evidence.remark
    return float(evidence.cosine[nearest] + support - floor)


def _spread(evidence: Evidence, calibration: Calibration) -> float:
    """Return the standard deviation of the cosines, drawn towards the usual one in tiny scopes."""
    sample = evidence.sample[evidence.embedded[evidence.sample]]
    variance = _variance(evidence.cosine[sample]) if len(sample) else 0.0
    weight = evidence.searched if len(sample) else 0
    prior = _PRIOR_WEIGHT * calibration.prior_sd**2
    # Rounded, because the order of a sum of floats depends on the history of the index.
    return round(float(np.sqrt((weight * variance + prior) / (weight + _PRIOR_WEIGHT))), 9)


def _gate(evidence: Evidence, best_bm25: float, calibration: Calibration) -> float:
    best_coverage = float(evidence.coverage.max(initial=0.0))
    if not evidence.embedded.any():
        return 1.0
    trust = max(best_coverage / calibration.gate_coverage, best_bm25 / calibration.gate_bm25)
    return min(1.0, trust)


def _other_script(evidence: Evidence, lexical: Array, other: Array, spread: float) -> Array:
    """Put documents that could not share a word with the query on a par with those that could.

    They are lent what their vectors earn them. And where the nearest of them is nearer than all
    others, the words of those are believed less, and not at all from one spread on.
    """
    foreign = np.flatnonzero(other & evidence.embedded)
    if not len(foreign):
        return lexical
    same = np.flatnonzero(~other & evidence.embedded)
    if not len(same):
        return lexical
    best = float(evidence.cosine.max())
    if best <= _TINY:
        return lexical
    # Equal cosines go by what the words earn, not by place, which depends on the history.
    order = np.lexsort((-lexical[same], -evidence.cosine[same]))
    nearest = same[order[:_SAME_SCRIPT_HITS]]
    level = float(lexical[nearest].mean())
    lent = level * np.maximum(evidence.cosine, 0.0) / best
    ahead = evidence.cosine[foreign].max() - evidence.cosine[nearest[0]]
    believed = min(1.0, max(0.0, 1.0 - float(ahead) / spread))
    return np.where(other, np.maximum(lexical, lent), believed * lexical)


def _lent(
    own: Array, speaks: Array, evidence: Evidence, without: Collection[str]
) -> tuple[Array, Array]:
    """Return what the turns beside each document lend it, and what it quotes or is quoted by."""
    earned, nothing = _earned(own, evidence), np.zeros_like(own)
    return (
        nothing if "neighbours" in without else _neighbour_share(earned, evidence),
        nothing if "sources" in without else _source_share(np.where(speaks, earned, 0.0), evidence),
    )


def _earned(own: Array, evidence: Evidence) -> Array:
    """Return what each document has above the median, and so has to lend."""
    if not len(own):
        return own
    earned: Array = np.maximum(0.0, own - _median(own[evidence.sample]))
    return earned


def _median(values: Array) -> float:
    """Return what np.median does, which takes several times as long for a sample."""
    middle = len(values) // 2
    first = middle - 1 + len(values) % 2
    halves = np.partition(values, (first, middle))
    return float((halves[first] + halves[middle]) / 2)


def _variance(values: Array) -> float:
    """Return what np.var does, which takes several times as long for a sample."""
    away = values - np.add.reduce(values) / len(values)
    return float(np.add.reduce(away * away) / len(values))


def _neighbour_share(earned: Array, evidence: Evidence) -> Array:
    """Return a quarter of what the turn before, and a tenth of what the turn after, has earned."""
    share = np.zeros_like(earned)
    followers = np.flatnonzero(evidence.previous >= 0)
    before = evidence.previous[followers]
    share[followers] += _FROM_PREVIOUS * earned[before]
    after = np.zeros_like(earned)
    np.maximum.at(after, before, earned[followers])
    return share + _FROM_NEXT * after


def _source_share(earned: Array, evidence: Evidence) -> Array:
    """Return half of what the best record that quotes it, or the best words quoted, has earned."""
    share = np.zeros_like(earned)
    if not len(evidence.sources):
        return share
    records, fragments = evidence.sources[:, 0], evidence.sources[:, 1]
    np.maximum.at(share, fragments, earned[records])
    np.maximum.at(share, records, earned[fragments])
    return _FROM_QUOTED * share


def _interaction(score: Array, evidence: Evidence, met: Callable[[Array], Array]) -> Array:
    """Return what the tokens of the best documents add, above what those of the least of them do.

    A record and the words that it quotes are looked at together. A document whose tokens are not
    known gets what the others have on average.
    """
    share = np.zeros_like(score)
    chosen = _best(score)
    if len(evidence.sources):
        beside = np.zeros_like(chosen)
        beside[evidence.sources[chosen[evidence.sources].any(axis=1)]] = True
        beside &= ~chosen
        chosen |= beside & _best(np.where(beside, score, -np.inf))
    best = np.flatnonzero(chosen)
    found = met(best)
    known = np.isfinite(found)
    if known.any():
        found = np.where(known, found, found[known].mean())
        timed = evidence.timed and not evidence.remark
        weight = _INTERACTION_TIMED if timed else _INTERACTION
        share[best] = weight * (found - found.min())
    return share


def _best(score: Array) -> Array:
    """Tell which documents are the best, bool, whatever their order: of many alike all or none."""
    if len(score) <= _INTERACTING:
        return np.ones(len(score), bool)
    rounded = np.round(score, 9)
    place = len(score) - _INTERACTING
    least = np.partition(rounded, place)[place]
    best: Array = rounded >= least
    return best if np.count_nonzero(best) <= 2 * _INTERACTING else rounded > least


def _brought_ahead(score: Array, speaks: Array, succession: Succession) -> Array:
    """Return what it takes to bring whatever replaced a document ahead of it.

    Of each successor its best document is brought ahead, also along a chain. Words say more than
    the record that quotes them, so they stay where they are when the successor has not half as
    much to say to the question.
    """
    lifted = np.zeros_like(score)
    if not len(succession.old):
        return lifted
    telling = speaks[succession.old]
    if not telling.any():
        return lifted
    new, case = succession.new[telling], succession.case[telling]
    firsts = np.flatnonzero(np.diff(case, prepend=-1))
    old = succession.old[telling][firsts]
    own = np.maximum.reduceat(np.where(speaks, score, -np.inf)[new], firsts)
    near = succession.whole[telling][firsts] | (own >= _SUCCESSOR * score[old])
    for _ in range(_CHAIN):
        now = score + lifted
        order = np.lexsort((-now[new], case))
        best = new[order][firsts]
        behind = near & (now[best] < now[old] + _AHEAD / 2)
        if not behind.any():
            break
        np.maximum.at(lifted, best[behind], (now[old] + _AHEAD - score[best])[behind])
    return lifted

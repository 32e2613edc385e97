"""Whether two systems, or two versions of one, differ by more than chance.

Each measure is compared query by query. The p-value is from Fisher's paired randomisation test
(Smucker et al., A Comparison of Statistical Significance Tests for Information Retrieval
Evaluation, CIKM 2007), the interval from the percentile bootstrap over queries, and the verdict
from p-values corrected by Holm over the measures of one cell.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiyi.core.errors import UsageError
from shiyi.eval.findings import CellComparison, Comparison, MeasureComparison
from shiyi.eval.measures import LOWER_IS_BETTER, values_of
from shiyi.eval.results import Cell, EvalResult, QueryResult

RESAMPLES = 10_000
SEED = 20_010
_ALPHA = 0.05
_INTERVAL = (0.025, 0.975)
_SAME = 1e-9  # sums in another order differ by less than this
_BLOCK = 2_000_000  # numbers of 8 bytes held at once, a few times over
_FIRST = 3

_Matrix = NDArray[np.float64]


class _Place(NamedTuple):
    dataset: str
    view: str
    system: str

    def __str__(self) -> str:
        return " / ".join(self)


def compare(
    a: EvalResult,
    b: EvalResult,
    *,
    systems: tuple[str, str] | None = None,
    common: bool = False,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Comparison:
    """Compare what both results measured, each system with itself.

    With two `systems`, the first as in `a` is compared with the second as in `b`, which may be the
    same result. With `common`, only queries that have the same id, text and gold on both sides
    count. Raises UsageError when nothing can be paired, and, without `common`, when the sets or
    the queries are not the same.
    """
    ours, theirs = _cells(a, systems and systems[0]), _cells(b, systems and systems[1])
    pairs = [(place, place) for place in ours if place in theirs]
    if systems is not None:
        pairs = [
            (place, counterpart)
            for place in ours
            if (counterpart := place._replace(system=systems[1])) in theirs
        ]
    if not pairs:
        raise UsageError("The two results have no set, view and system to compare in common.")
    if not common:
        _check_sets(a, b, {place.dataset for place, _ in pairs})
    cells = [
        _compared(ours[first], theirs[second], common=common, resamples=resamples, seed=seed)
        for first, second in pairs
    ]
    if not any(cell.queries for cell in cells):
        raise UsageError("The two results have no query in common.")
    return Comparison(
        a=a.fingerprint, b=b.fingerprint, resamples=resamples, seed=seed, cells=cells,
        only_a=[str(place) for place in ours if place not in {first for first, _ in pairs}],
        only_b=[str(place) for place in theirs if place not in {second for _, second in pairs}],
    )  # fmt: skip


def _cells(result: EvalResult, system: str | None) -> dict[_Place, Cell]:
    known = dict.fromkeys(cell.system for cell in result.cells)
    if system is not None and system not in known:
        raise UsageError(f"The result has no system {system!r}, only {', '.join(known)}.")
    return {
        _Place(cell.dataset, cell.view, cell.system): cell
        for cell in result.cells
        if system is None or cell.system == system
    }


def _check_sets(a: EvalResult, b: EvalResult, used: set[str]) -> None:
    before = {info.name: info.sha256 for info in a.datasets}
    after = {info.name: info.sha256 for info in b.datasets}
    changed = sorted(name for name in used if before.get(name) != after.get(name))
    if changed:
        raise UsageError(
            f"The contents of {len(changed)} of the sets differ ({_few(changed)}); compare only "
            "the queries that both have, or measure again."
        )


def _compared(a: Cell, b: Cell, *, common: bool, resamples: int, seed: int) -> CellComparison:
    before = {query.id: query for query in a.queries}
    after = {query.id: query for query in b.queries}
    if common:
        ids = [one for one in before if one in after and _same(before[one], after[one])]
    else:
        ids = list(before)
        unlike = sorted(before.keys() ^ after.keys()) or sorted(
            one for one in ids if not _same(before[one], after[one])
        )
        if unlike:
            raise UsageError(
                f"{len(unlike)} queries of {a.dataset} / {a.view} are not the same in both "
                f"results ({_few(unlike)}); compare only those that both have, or measure again."
            )
    rows = [(values_of(before[one]), values_of(after[one])) for one in ids]
    return CellComparison(
        dataset=a.dataset, view=a.view, system_a=a.system, system_b=b.system, queries=len(ids),
        left_out=len(before.keys() | after.keys()) - len(ids),
        measures=_corrected(_tested(rows, resamples, seed)),
    )  # fmt: skip


def _same(one: QueryResult, other: QueryResult) -> bool:
    return (one.text, one.gold) == (other.text, other.gold)


def _tested(
    rows: Sequence[tuple[Mapping[str, float], Mapping[str, float]]], resamples: int, seed: int
) -> Iterator[MeasureComparison]:
    """Yield each measure, those defined for the same queries at once, not yet corrected."""
    defined: dict[str, list[int]] = {}
    for number, (before, after) in enumerate(rows):
        for name in before:
            if name in after:
                defined.setdefault(name, []).append(number)
    groups: dict[tuple[int, ...], list[str]] = {}
    for name, numbers in defined.items():
        groups.setdefault(tuple(numbers), []).append(name)
    for same, names in groups.items():
        a = np.array([[rows[number][0][name] for name in names] for number in same])
        b = np.array([[rows[number][1][name] for name in names] for number in same])
        p = randomisation_p(b - a, resamples, seed)
        low, high = bootstrap_interval(b - a, resamples, seed)
        for column, name in enumerate(names):
            mean_a, mean_b = (math.fsum(side[:, column]) / len(same) for side in (a, b))
            yield MeasureComparison(
                measure=name, queries=len(same), a=mean_a, b=mean_b,
                difference=mean_b - mean_a, low=float(low[column]), high=float(high[column]),
                p=float(p[column]), p_holm=1.0, verdict="no difference shown",
                lower_is_better=name in LOWER_IS_BETTER,
            )  # fmt: skip


def randomisation_p(differences: _Matrix, resamples: int = RESAMPLES, seed: int = SEED) -> _Matrix:
    """Return the two-sided p-value of each column: rows are queries, signs are flipped at random.

    It is (count + 1) / (resamples + 1), so never 0.
    """
    count = len(differences)
    observed = np.abs(differences.sum(axis=0)) - _SAME
    random = np.random.default_rng(seed)
    extreme = np.zeros(differences.shape[1])
    for size in _blocks(resamples, count):
        bits = random.integers(0, 256, (size, -(-count // 8)), dtype=np.uint8)
        flips = np.unpackbits(bits, axis=1, count=count).astype(np.float64)
        # The sum under signs 1 - 2 f is the sum of all, less twice that of the flipped ones.
        sums = differences.sum(axis=0) - 2 * (flips @ differences)
        extreme += (np.abs(sums) >= observed).sum(axis=0)
    return (extreme + 1) / (resamples + 1)


def bootstrap_interval(
    differences: _Matrix, resamples: int = RESAMPLES, seed: int = SEED
) -> tuple[_Matrix, _Matrix]:
    """Return the ends of the 95 % interval of the mean of each column, by percentiles."""
    count = len(differences)
    random = np.random.default_rng(seed)
    means = []
    for size in _blocks(resamples, count):
        drawn = random.integers(0, count, (size, count), dtype=np.int32)
        drawn += np.arange(size, dtype=np.int32)[:, None] * np.int32(count)
        times = np.bincount(drawn.ravel(), minlength=size * count).reshape(size, count)
        means.append(times.astype(np.float64) @ differences / count)
    low, high = np.quantile(np.concatenate(means), _INTERVAL, axis=0)
    return low, high


def _blocks(resamples: int, count: int) -> Iterator[int]:
    most = max(1, _BLOCK // count)
    for start in range(0, resamples, most):
        yield min(most, resamples - start)


def _corrected(measures: Iterator[MeasureComparison]) -> list[MeasureComparison]:
    """Return the measures with Holm's correction: the smallest p times all, the next times fewer.

    A larger p never ends up below a smaller one.
    """
    found = list(measures)
    highest = 0.0
    for place, one in enumerate(sorted(found, key=lambda one: one.p)):
        highest = max(highest, min(1.0, one.p * (len(found) - place)))
        one.p_holm = highest
        if highest < _ALPHA:
            rises = (one.difference > 0) != one.lower_is_better
            one.verdict = "better" if rises else "worse"
    return found


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:_FIRST]) + (", …" if len(names) > _FIRST else "")

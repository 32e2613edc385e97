"""Whether two people judge alike."""

from collections import Counter
from dataclasses import dataclass

from shiyi.core.errors import UsageError
from shiyi.eval.label import GRADES, LabelSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Cohen's kappa over the pairs of query and document that both have graded.

    weighted counts a step of one grade half as bad as one of two. Both are None when each person
    gave one and the same grade throughout, since chance alone would then agree.

    Cohen, Weighted kappa: Nominal scale agreement with provision for scaled disagreement or partial
    credit, Psychological Bulletin 70, 1968; linear weights.
    """

    kappa: float | None
    weighted: float | None
    pairs: int
    same: int
    counts: dict[tuple[int, int], int]


def agreement(one: LabelSession, other: LabelSession) -> Agreement:
    """Return how far two sessions agree.

    Raises UsageError when they have no judged pair in common.
    """
    first, second = one.grades, other.grades
    counts = Counter((first[pair], second[pair]) for pair in first.keys() & second.keys())
    if not counts:
        raise UsageError("The two sessions have judged nothing in common.")
    return Agreement(
        kappa=_kappa(counts, [[float(a != b) for b in GRADES] for a in GRADES]),
        weighted=_kappa(counts, [[abs(a - b) / max(GRADES) for b in GRADES] for a in GRADES]),
        pairs=counts.total(),
        same=sum(counts[grade, grade] for grade in GRADES),
        counts={(a, b): counts[a, b] for a in GRADES for b in GRADES},
    )


def _kappa(counts: Counter[tuple[int, int]], weights: list[list[float]]) -> float | None:
    total = counts.total()
    rows = [sum(counts[a, b] for b in GRADES) for a in GRADES]
    columns = [sum(counts[a, b] for a in GRADES) for b in GRADES]
    seen = sum(counts[a, b] * weights[a][b] for a in GRADES for b in GRADES) * total
    by_chance = sum(rows[a] * columns[b] * weights[a][b] for a in GRADES for b in GRADES)
    return 1 - seen / by_chance if by_chance else None

"""What has to be run so that a baseline can be checked."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from shiyi.eval.gate import Baseline
from shiyi.eval.run import Plan

_DEPTH = re.compile(r"@([1-9][0-9]?|100)$")  # what nobody can ask for is not measured either
_BUDGET = re.compile(r"@([1-9][0-9]{2,8})t$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """The plan of a run, and the views of each set."""

    plan: Plan
    views: dict[str, list[str]]


def only_sets(baseline: Baseline, names: Collection[str]) -> Baseline:
    """Return what a baseline says of these sets."""
    cells = [cell for cell in baseline.cells if cell.dataset in names]
    return baseline.model_copy(update={"cells": cells})


def rerun_of(baseline: Baseline, counter: str) -> Rerun:
    """Return what measures all that a baseline holds."""
    measures = {name for cell in baseline.cells for name in cell.measures}
    views: dict[str, list[str]] = {}
    for cell in baseline.cells:
        known = views.setdefault(cell.dataset, [])
        if cell.view not in known:
            known.append(cell.view)
    plan = Plan(
        systems=tuple(dict.fromkeys(cell.system for cell in baseline.cells)),
        ks=_numbers(_DEPTH, measures), budgets=_numbers(_BUDGET, measures), counter=counter,
    )  # fmt: skip
    return Rerun(plan=plan, views=views)


def _numbers(pattern: re.Pattern[str], names: Collection[str]) -> list[int]:
    """Return the numbers of the names that fit, ascending."""
    found = map(pattern.search, names)
    return sorted({int(one[1]) for one in found if one})

"""Fitting an answer into its budget: whole hits, in order, as many as fit."""

from shiyi.core.errors import UsageError
from shiyi.models.tokens import TokenCounter
from shiyi.retrieval.results import SearchResult, Truncated

MIN_BUDGET = 200  # tokens


def pack(result: SearchResult, budget: int, counter: TokenCounter) -> SearchResult:
    """Return the result with the longest run of its hits that costs at most `budget` tokens.

    The cost is of the compact JSON of the answer, overhead included. A larger budget shows the
    same hits and possibly more. Raises UsageError for a budget under MIN_BUDGET.
    """
    if budget < MIN_BUDGET:
        raise UsageError(f"The budget is {budget} tokens; give at least {MIN_BUDGET}.")
    fits = len(result.hits)
    cost = _cost(result, counter)
    if cost > budget:  # usually everything fits, and counting is what takes time here
        fits, cost = _longest(result, budget, counter)
    packed = _shortened(result, fits)
    packed.tokens = cost
    return packed


def _longest(result: SearchResult, budget: int, counter: TokenCounter) -> tuple[int, int]:
    """Return how many hits fit, and what the answer then costs."""
    low, high = 0, len(result.hits) - 1
    cost = None
    while low < high:
        middle = (low + high + 1) // 2
        found = _cost(_shortened(result, middle), counter)
        if found <= budget:
            low, cost = middle, found
        else:
            high = middle - 1
    return low, _cost(_shortened(result, low), counter) if cost is None else cost


def _shortened(result: SearchResult, hits: int) -> SearchResult:
    omitted = Truncated(omitted=len(result.hits) - hits)
    return result.model_copy(update={"hits": result.hits[:hits], "truncated": omitted})


def _cost(result: SearchResult, counter: TokenCounter) -> int:
    # The number itself is part of the answer; five digits cost as much as any count that fits.
    counted = result.model_copy(update={"tokens": 99_999})
    return counter.count(counted.model_dump_json())

"""Fitting an answer into its budget: whole hits, in order, as many as fit."""

from collections.abc import Callable
from itertools import cycle
from typing import Any

from shiyi.core.errors import UsageError
from shiyi.models.tokens import TokenCounter
from shiyi.retrieval.results import SearchResult, Truncated

MIN_BUDGET = 200  # tokens
ANY_TRACE = "0" * 24  # costs what any id of a trace costs
# Of a hit: its version, dates, speaker and so on; and its scores.
_STRETCHES = (('"version":', ',"snippet"'), ('"score":', ',"terms"'))
_ZEROS = str.maketrans("123456789", "0" * 9)
_Cost = Callable[[SearchResult], int]


def pack(result: SearchResult, budget: int, counter: TokenCounter) -> SearchResult:
    """Return the result with the longest run of its hits that costs at most `budget` tokens.

    The cost is of the compact JSON of the answer, overhead included. A larger budget shows the
    same hits and possibly more. Where room is short the notes come first, then the first hit,
    then the terms, then the other hits; notes that do not fit by themselves are cut.

    Raises UsageError for a budget under MIN_BUDGET, or in which this counter fits no answer.
    """
    if budget < MIN_BUDGET:
        raise UsageError(f"The budget is {budget} tokens; give at least {MIN_BUDGET}.")
    # The number itself is part of the answer; as many nines cost as much as any that fits. The id
    # of a trace costs the same whatever it is, and is counted whether one is kept or not.
    nines = 10 ** len(str(budget)) - 1

    def cost(answer: SearchResult) -> int:
        whole = _with(answer, tokens=nines, trace=ANY_TRACE)
        return _count(whole.model_dump_json(), counter)

    packed, used = result, cost(result)
    if used > budget:  # usually everything fits, and counting is what takes time here
        packed = _cut(result, budget, cost)
        used = cost(packed)
    if used > budget:
        raise UsageError(f"An answer without hits costs {used} {counter.name}; give at least that.")
    return _with(packed, tokens=used)


def _count(text: str, counter: TokenCounter) -> int:
    """Return the tokens of an answer's JSON, of which many hits share long stretches.

    To all counters, figures stand by themselves, in groups of up to three whichever they are. So
    a stretch from a figure to a figure or letter costs the same wherever it stands, and with
    zeros in place of its figures, in which form most of them have been counted before.
    """
    rest, cost, at = [], 0, 0
    for first, last in cycle(_STRETCHES):
        start = text.find(first, at) + len(first)
        end = text.find(last, start)
        if start < len(first) or end < 0:
            break
        end -= text[end - 1] == '"'
        stretch = text[start:end]
        if stretch.isascii() and stretch[:1].isdigit() and stretch[-1:].isalnum():
            cost += counter.count(stretch.translate(_ZEROS)) - counter.count("0")
            rest += [text[at:start], "0"]
        else:
            rest.append(text[at:end])
        at = end
    return cost + counter.count("".join([*rest, text[at:]]))


def _cut(result: SearchResult, budget: int, cost: _Cost) -> SearchResult:
    def fits(answer: SearchResult) -> bool:
        return cost(answer) <= budget

    some = _longest(len(result.hits), lambda count: fits(_shown(result, count)))
    if some:
        return _shown(result, some)
    plain = _with(result, terms=[])
    if result.hits and fits(_shown(plain, 1)):
        return _shown(plain, 1)
    plain = _shown(plain, 0)
    if not fits(plain):
        note = "\n".join(result.notes)
        size = _longest(len(note) - 1, lambda size: fits(_with(plain, notes=[f"{note[:size]}…"])))
        return _with(plain, notes=[f"{note[:size]}…"] if size else [])
    if result.hits:
        return plain
    terms = _longest(
        len(result.terms), lambda count: fits(_with(plain, terms=result.terms[:count]))
    )
    return _with(plain, terms=result.terms[:terms])


def _longest(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number from 1 to `most` that fits, or 0."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _shown(result: SearchResult, hits: int) -> SearchResult:
    omitted = Truncated(omitted=len(result.hits) - hits)
    return _with(result, hits=result.hits[:hits], truncated=omitted)


def _with(result: SearchResult, **fields: Any) -> SearchResult:
    return result.model_copy(update=fields)

"""Single queries as a report shows them: what two systems found, and who was wrong to be silent."""

from collections.abc import Mapping
from dataclasses import dataclass

from shiyi.eval.figures import Disagreement, Failure, clip, number, signed
from shiyi.eval.results import Cell, QueryResult

NAME_LENGTH = 60
_TOP = 5
_QUERY_LENGTH, _TEXT_LENGTH = 240, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A document that was found, and its grade; 0 is not gold."""

    id: str
    text: str
    grade: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """What one of the two systems answered."""

    system: str
    value: str
    outcome: str
    gold: str
    top: list[Found]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One query on which two systems differ."""

    query: str
    id: str
    difference: str
    sides: list[Side]


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """One query at which some systems failed to abstain, or abstained wrongly."""

    query: str
    id: str
    systems: str


def make_case(one: Disagreement, pair: tuple[Cell, Cell], texts: Mapping[str, str]) -> Case:
    """Return a disagreement in words; texts may lack documents, or be empty."""
    sides = zip((one.one, one.other), pair, one.values, strict=True)
    return Case(
        query=clip(one.one.text, _QUERY_LENGTH),
        id=clip(one.one.id, NAME_LENGTH),
        difference=signed(one.values[0] - one.values[1]),
        sides=[_side(query, cell.system, value, texts) for query, cell, value in sides],
    )


def _side(query: QueryResult, system: str, value: float, texts: Mapping[str, str]) -> Side:
    ranks = [rank for rank, one in enumerate(query.found, start=1) if one in query.gold]
    missing = len(query.gold) - len(ranks)
    gold = [f"gold at {', '.join(map(str, ranks[:_TOP]))}"] if ranks else []
    gold += [f"{missing} of {len(query.gold)} gold not found"] if missing > 0 else []
    return Side(
        system=clip(system, NAME_LENGTH),
        value=number(value),
        outcome="" if query.outcome == "found" else query.outcome,
        gold="; ".join(gold),
        top=[
            Found(
                id=clip(one, NAME_LENGTH),
                text=clip(texts.get(one, ""), _TEXT_LENGTH),
                grade=query.gold.get(one, 0),
            )
            for one in query.found[:_TOP]
        ],
    )


def make_missed(failure: Failure) -> Missed:
    """Return a failure in words."""
    return Missed(
        query=clip(failure.query.text, _QUERY_LENGTH // 2),
        id=clip(failure.query.id, NAME_LENGTH),
        systems=clip(", ".join(failure.systems), _QUERY_LENGTH // 2),
    )

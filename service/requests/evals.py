"""What the measuring of searches is asked with."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from shiyi.service.requests.forms import ARGUMENT, COMMAS, Parted, Place, Places, Request, flag

Channel = Literal["hybrid", "keyword", "dense"]
EvalSystem = Literal["hybrid", "probe", "probe-topdown", "deep", "bm25", "dense", "grep", "okapi"]

_PLACE = "where the dashboard looks, or shiyi-eval while there is no home, by default"
_Depth = Annotated[int, Field(ge=1, le=100)]
_Budget = Annotated[int, Field(ge=200, le=10_000_000)]


def _ascending(numbers: list[int]) -> list[int]:
    if numbers != sorted(numbers):
        raise ValueError("The numbers go up; put them in order")
    return numbers


class EvalRunRequest(Request):
    """Measure systems on sets."""

    dataset: Places = Field(
        min_length=1,
        description="the name of a set that `shiyi eval datasets` lists, or the path of one",
        json_schema_extra=ARGUMENT,
    )
    system: Annotated[list[EvalSystem], Parted] = Field(
        ["hybrid", "bm25", "dense", "grep", "okapi"],
        min_length=1,
        description="what answers; several are joined by commas",
        json_schema_extra=COMMAS,
    )
    run: Places = Field(
        [],
        description="what another engine found, in TREC's form; a system called like the file",
    )
    k: Annotated[list[_Depth], Parted, AfterValidator(_ascending)] = Field(
        [1, 5, 10, 20],
        min_length=1,
        description="depths to measure at, ascending, 1 to 100",
        json_schema_extra=COMMAS,
    )
    budget: Annotated[list[_Budget], Parted, AfterValidator(_ascending)] = Field(
        [200, 500, 1000, 2000, 4000],
        description="token budgets to measure at, ascending, each at least 200",
        json_schema_extra=COMMAS,
    )
    view: Annotated[list[str], Parted] | None = Field(
        None,
        description="only these views of the sets, such as main or hant; all by default",
        json_schema_extra=COMMAS,
    )
    by: Annotated[list[Literal["category", "scope", "half"]], Parted] = Field(
        ["category", "half"],
        description="what the queries are grouped by: category, scope or half",
        json_schema_extra=COMMAS,
    )
    without: Annotated[list[str], Parted] | None = Field(
        None,
        description="parts of the search to leave out, such as fold, bigrams or vector",
        json_schema_extra=COMMAS,
    )
    most: int | None = Field(None, ge=1, description="only the first so many queries of each view")
    out: Place | None = Field(None, description=f"the directory for what is found; {_PLACE}")
    texts: bool = Field(False, description="show the texts of documents in the report")


class EvalCompareRequest(Request):
    """Compare two results."""

    a: Place = Field(description="a result.json, or its directory", json_schema_extra=ARGUMENT)
    b: Place = Field(description="another one; differences are b - a", json_schema_extra=ARGUMENT)
    system: Annotated[list[str], Parted] | None = Field(
        None,
        min_length=1,
        max_length=2,
        description="a system of a, and one of b when that is another; each with itself by default",
        json_schema_extra=COMMAS,
    )
    common: bool = Field(False, description="compare only the queries that both have")


class EvalGateRequest(Request):
    """Check a result against a baseline."""

    result: Place | None = Field(
        None,
        description="a result.json, or its directory; without one, what the baseline names is run",
        json_schema_extra=ARGUMENT,
    )
    baseline: Place = Field(description="the file with the figures to hold")
    write: bool = Field(False, description="make the baseline from the result instead")
    strict: bool = Field(False, description="fail when a set of the baseline is not here")
    out: Place | None = Field(None, description=f"the directory for what a run finds; {_PLACE}")


class EvalLabelRequest(Request):
    """Judge by hand."""

    queries: Place | None = Field(
        None,
        description="a text file of queries, one a line, or a .jsonl with text and _id; or the "
        "word traces: what was searched for lately; or feedback: what was asked where a person "
        "said something of the answer",
        json_schema_extra=ARGUMENT,
    )
    query: list[str] | None = Field(
        None, max_length=1000, description="a query to judge; may be repeated"
    )
    directory: Place = Field(
        description="where the judgements are kept, to go on from", json_schema_extra=flag("in")
    )
    system: Annotated[list[Channel], Parted] | None = Field(
        None,
        min_length=1,
        description="what finds the documents to judge: hybrid, keyword, dense; all that work by "
        "default",
        json_schema_extra=COMMAS,
    )
    depth: int = Field(10, ge=1, le=100, description="how many of each are judged")
    export: Place | None = Field(
        None, description="a new directory for the labelled set, once you stop"
    )
    texts: bool = Field(False, description="write the texts of documents into the labelled set too")


class EvalDatasetsRequest(Request):
    """List sets."""

    directory: Places | None = Field(
        None,
        description="where to look; in SHIYI_DATASETS by default",
        json_schema_extra=ARGUMENT,
    )

"""What each operation is asked with. Field descriptions are the help of every door."""

import os
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.config import JsonDict

from shiyi.core.ids import MAX_EXTERNAL_ID
from shiyi.store.kinds import KINDS, LAYERS, STATUSES

Kind = Literal[KINDS]  # type: ignore[valid-type]
Layer = Literal[LAYERS]  # type: ignore[valid-type]
Status = Literal[STATUSES]  # type: ignore[valid-type]
ImportFormat = Literal[
    "auto", "jsonl", "markdown", "text", "chatgpt", "claude", "claude-code", "beir"
]

Channel = Literal["hybrid", "keyword", "dense"]
EvalSystem = Literal["hybrid", "bm25", "dense", "grep", "okapi"]

# How the command line takes a field: `argument` by position, `words` by position, --file or
# standard input, `commas` as an option whose values may be joined by commas; everything else is an
# option.
_ARGUMENT: JsonDict = {"cli": "argument"}
_WORDS: JsonDict = {"cli": "words"}
_COMMAS: JsonDict = {"cli": "commas"}
_DIRECTORY = "shiyi-eval"
_MAX_NAME = 200


def _flag(name: str) -> JsonDict:
    """Name the option of a list after one of its items."""
    return {"flag": name}


def _without_blanks(names: list[str]) -> list[str]:
    return [name for name in names if name.strip()]


def _as_text(path: Any) -> Any:
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if isinstance(text, str):
        if not text or "\0" in text:
            raise ValueError("A path has at least one character and no NUL")
        os.fsencode(text)  # half a surrogate pair has no form on a disk: a ValueError
    return text


def _in_a_list(given: Any) -> Any:
    return [given] if isinstance(given, str | os.PathLike) else given


def _parted(given: Any) -> Any:
    """Return what stands between commas, each once."""
    if not isinstance(given, str | list | tuple):
        return given
    parts: list[Any] = []
    for one in [given] if isinstance(given, str) else given:
        parts += [part.strip() for part in one.split(",")] if isinstance(one, str) else [one]
    return list(dict.fromkeys(part for part in parts if part != ""))


def _ascending(numbers: list[int]) -> list[int]:
    if numbers != sorted(numbers):
        raise ValueError("The numbers go up; put them in order")
    return numbers


# A path, as text or as pathlib has it.
Place = Annotated[str, BeforeValidator(_as_text)]

Places = Annotated[list[Place], BeforeValidator(_in_a_list)]
_Parted = BeforeValidator(_parted)
_Depth = Annotated[int, Field(ge=1, le=100)]
_Budget = Annotated[int, Field(ge=200, le=10_000_000)]

# On the command line an empty list is written as one empty name.
Names = Annotated[list[str], AfterValidator(_without_blanks)]


class Request(BaseModel):
    """A request: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)


def _name(description: str) -> Any:
    return Field(None, max_length=_MAX_NAME, description=description)


def _record_id() -> Any:
    return Field(
        min_length=1,
        max_length=MAX_EXTERNAL_ID,
        description="the id of a record, or the name that its source gave it",
        json_schema_extra=_ARGUMENT,
    )


class InitRequest(Request):
    """Make a home."""


class _Statement(Request):
    """The fields of a record that a person may give.

    In an edit, an empty detail, date, phase, topic or alias clears what was there.
    """

    kind: Kind | None = Field(None, description="what it is")
    layer: Layer | None = Field(None, description="how long it lives")
    title: str | None = Field(None, description="a few words that name it")
    gist: str | None = Field(None, description="one sentence that stands alone")
    detail: str | None = Field(None, description="more, if it needs more")
    topics: Names | None = Field(
        None,
        max_length=50,
        description="a topic; may be repeated",
        json_schema_extra=_flag("topic"),
    )
    aliases: Names | None = Field(
        None,
        max_length=50,
        description="another name for it; may be repeated",
        json_schema_extra=_flag("alias"),
    )
    salience: int | None = Field(None, ge=0, le=100, description="how much it matters, 0 to 100")
    date: str | None = Field(
        None, description="when it was: 2021, 2021-03, 2021-03-05 or 2021-03-05..2021-04-01"
    )
    phase: str | None = _name("the phase of life that it belongs to")

    def statement(self) -> dict[str, Any]:
        """Return the fields that were given."""
        names = tuple(_Statement.model_fields)
        return {name: value for name in names if (value := getattr(self, name)) is not None}


class RememberRequest(_Statement):
    """Keep words, and a record that quotes them."""

    text: str = Field(description="the words", json_schema_extra=_WORDS)
    speaker: str = Field("user", min_length=1, max_length=_MAX_NAME, description="who said them")
    session: str | None = _name("the dialogue that they belong to; they follow its newest words")
    turn: str | None = _name("the turn that they belong to")
    said_at: str | None = Field(None, description="when they were said, ISO 8601; now by default")
    words_only: bool = Field(False, description="keep the words and derive no record")
    key: str | None = _name("idempotency key: a repeat returns the first result")


class ImportRequest(Request):
    """Take in a file or folder."""

    path: Place = Field(description="a file, a folder or a zip", json_schema_extra=_ARGUMENT)
    format: ImportFormat = Field("auto", description="what it is; found out by itself")


class SearchRequest(Request):
    """Look for memories."""

    text: str = Field(description="what to look for", json_schema_extra=_ARGUMENT)
    limit: int = Field(8, ge=1, le=100, description="the most hits")
    budget: int = Field(
        4000,
        ge=200,
        le=10_000_000,
        description="the most tokens that the answer may cost; at least 200",
    )
    kind: list[Kind] | None = Field(None, description="only records of a kind; may be repeated")
    layer: list[Layer] | None = Field(
        None, description="only records of a layer; may be repeated; durable ones by default"
    )
    status: list[Status] = Field(["active"], description="records of a status; may be repeated")
    topic: list[str] | None = Field(None, description="only what has a topic; may be repeated")
    since: str | None = Field(None, description="only what is dated then or later")
    until: str | None = Field(None, description="only what is dated then or earlier")
    only: Literal["all", "records", "captures"] = Field("all", description="what to look in")
    channel: Channel = Field("hybrid", description="words and meaning, or one of them alone")
    weak: bool = Field(False, description="also return what lies below the evidence floor")
    now: str | None = Field(
        None, description="when it is asked, ISO 8601: what words such as 去年 are counted from"
    )


class ShowRequest(Request):
    """Read one memory."""

    id: str = Field(
        min_length=1,
        max_length=MAX_EXTERNAL_ID,
        description="the id of a record or capture, or the name that its source gave it",
        json_schema_extra=_ARGUMENT,
    )
    versions: bool = Field(False, description="with every older version of a record")


class ListRequest(Request):
    """Read memories page by page."""

    what: Literal["records", "captures"] = Field("records", description="what to list")
    kind: Kind | None = Field(None, description="only records of this kind")
    layer: Layer | None = Field(None, description="only records of this layer")
    status: Status | None = Field(None, description="only records of this status")
    topic: str | None = _name("only records with this topic")
    limit: int = Field(50, ge=1, le=1000, description="the most on a page")
    after: str | None = Field(None, description="the cursor of the page before")


class EditRequest(_Statement):
    """Give a record a new version."""

    id: str = _record_id()
    status: Status | None = Field(None, description="its status")
    reason: str | None = Field(None, max_length=2000, description="why it changes")
    if_match: str | None = _name("the etag that the newest version must have")
    key: str | None = _name("idempotency key: a repeat returns the first result")


class ArchiveRequest(Request):
    """Take a record out of ordinary search."""

    id: str = _record_id()
    reason: str | None = Field(None, max_length=2000, description="why")
    if_match: str | None = _name("the etag that the newest version must have")
    key: str | None = _name("idempotency key: a repeat returns the first result")


class ReindexRequest(Request):
    """Build indexes anew."""

    scope: str | None = _name("only this scope; all of them by default")
    full: bool = Field(False, description="analyse every text again instead of what changed")
    keywords_only: bool = Field(False, description="index words only, without the model")


class StatusRequest(Request):
    """Ask how things stand."""


class DoctorRequest(Request):
    """Check everything."""


class ExportRequest(Request):
    """Write plain files."""

    path: Place = Field(description="a new or empty directory", json_schema_extra=_ARGUMENT)
    format: Literal["jsonl", "markdown"] = Field("jsonl", description="for programs or people")


class CalibrateRequest(Request):
    """Measure the constants of the model in use."""

    passages: Place = Field(description="a file of texts to find, one a line")
    queries: Place = Field(description="a file of questions, one a line")
    sources: str = Field("own texts", max_length=2000, description="where they are from")


class VersionRequest(Request):
    """Ask for the version."""


class EvalRunRequest(Request):
    """Measure systems on sets."""

    dataset: Places = Field(
        min_length=1,
        description="the name of a set that `shiyi eval datasets` lists, or the path of one",
        json_schema_extra=_ARGUMENT,
    )
    system: Annotated[list[EvalSystem], _Parted] = Field(
        ["hybrid", "bm25", "dense", "grep", "okapi"],
        min_length=1,
        description="what answers; several are joined by commas",
        json_schema_extra=_COMMAS,
    )
    k: Annotated[list[_Depth], _Parted, AfterValidator(_ascending)] = Field(
        [1, 5, 10, 20],
        min_length=1,
        description="depths to measure at, ascending, 1 to 100",
        json_schema_extra=_COMMAS,
    )
    budget: Annotated[list[_Budget], _Parted, AfterValidator(_ascending)] = Field(
        [200, 500, 1000, 2000, 4000],
        description="token budgets to measure at, ascending, each at least 200",
        json_schema_extra=_COMMAS,
    )
    view: Annotated[list[str], _Parted] | None = Field(
        None,
        description="only these views of the sets, such as main or hant; all by default",
        json_schema_extra=_COMMAS,
    )
    by: Annotated[list[Literal["category", "scope", "half"]], _Parted] = Field(
        ["category", "half"],
        description="what the queries are grouped by: category, scope or half",
        json_schema_extra=_COMMAS,
    )
    without: Annotated[list[str], _Parted] | None = Field(
        None,
        description="parts of the search to leave out, such as fold, bigrams or vector",
        json_schema_extra=_COMMAS,
    )
    most: int | None = Field(None, ge=1, description="only the first so many queries of each view")
    out: Place = Field(_DIRECTORY, description="the directory for what is found")
    texts: bool = Field(False, description="show the texts of documents in the report")


class EvalCompareRequest(Request):
    """Compare two results."""

    a: Place = Field(description="a result.json, or its directory", json_schema_extra=_ARGUMENT)
    b: Place = Field(description="another one; differences are b - a", json_schema_extra=_ARGUMENT)
    system: Annotated[list[str], _Parted] | None = Field(
        None,
        min_length=1,
        max_length=2,
        description="a system of a, and one of b when that is another; each with itself by default",
        json_schema_extra=_COMMAS,
    )
    common: bool = Field(False, description="compare only the queries that both have")


class EvalGateRequest(Request):
    """Check a result against a baseline."""

    result: Place | None = Field(
        None,
        description="a result.json, or its directory; without one, what the baseline names is run",
        json_schema_extra=_ARGUMENT,
    )
    baseline: Place = Field(description="the file with the figures to hold")
    write: bool = Field(False, description="make the baseline from the result instead")
    strict: bool = Field(False, description="fail when a set of the baseline is not here")
    out: Place = Field(_DIRECTORY, description="the directory for what a run finds")


class EvalLabelRequest(Request):
    """Judge by hand."""

    queries: Place = Field(
        description="a text file of queries, one a line, or a .jsonl with text and _id; traces of "
        "searches are not taken yet",
        json_schema_extra=_ARGUMENT,
    )
    directory: Place = Field(
        description="where the judgements are kept, to go on from", json_schema_extra=_flag("in")
    )
    system: Annotated[list[Channel], _Parted] | None = Field(
        None,
        min_length=1,
        description="what finds the documents to judge: hybrid, keyword, dense; all that work by "
        "default",
        json_schema_extra=_COMMAS,
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
        json_schema_extra=_ARGUMENT,
    )

"""What probe and deep answer. Stored text stands in `title`, `text`, `detail`, `summary` alone."""

from pydantic import BaseModel, Field

from shiyi.retrieval.packing import Budgeted


class Card(BaseModel):
    """One memory as an answer shows it; the smaller the form, the more is None."""

    id: str = Field(description="as short as is unique in the scope, accepted by every operation")
    rel: str | None = Field(None, description="how it is related to the one named by `of`")
    of: str | None = None
    date: str | None = Field(None, description="2020, 2020-03, 2020-03-10, or two with ..")
    fit: str | None = Field(None, description="possible: its date is wider than the window")
    kind: str | None = Field(None, description="of a record")
    who: str | None = Field(None, description="who said it, of a capture")
    title: str | None = None
    text: str | None = Field(None, description="the gist or the words; … where it is cut")
    detail: str | None = None
    also: list[str] | None = Field(None, description="ids of the same words")
    path: str | None = Field(None, description="how an association was reached")
    fidelity: str | None = Field(None, description="when it is not exact words or not sourced")
    status: str | None = Field(None, description="when it is not active")
    links: dict[str, list[str]] | None = Field(None, description="ids by how it is related to them")
    layer: str | None = None
    salience: int | None = None
    topics: list[str] | None = None
    sources: list[str] | None = Field(None, description="what it quotes, as id:start-end")
    modified: str | None = None
    score: float | None = None
    why: dict[str, float] | None = Field(None, description="the parts of the score")
    terms: list[str] | None = Field(None, description="terms of the query in it")


class ProbeResult(Budgeted):
    """Cards, best first, each in the largest form that its worth and the budget allow."""

    mode: str | None = Field(None, description="hybrid or keyword; null for ids alone")
    weak: bool = Field(default=False, description="nothing stands out: these are only the nearest")
    times: list[str] = Field(description="what time words of the questions were read as")
    fidelity: dict[str, int] = Field(description="how exact the sources of all found are")
    held_back: int = Field(description="superseded records behind those found, which stay out")
    unknown: list[str] = Field(description="ids that were asked for and are not here")
    records: list[Card] = Field(description="records and captures that were found")
    related: list[Card] = Field(description="what supports, contradicts or replaces them")
    entities: list[Card] = Field(description="who and what is in them")
    facets: list[Card] = Field(description="what they are a part of")
    beside: list[Card] = Field(description="records next to them in time")
    associations: list[Card] = Field(description="what they bring to mind, each with its path")


class Fragment(BaseModel):
    """Words as they were said: `text` is capture[span[0]:span[1]], in code points."""

    id: str = Field(description="of the capture, as short as is unique in the scope")
    span: tuple[int, int] = Field(description="where in the capture the text stands")
    of: int = Field(description="code points of the whole capture")
    text: str
    sha256: str = Field(description="of the whole capture in UTF-8")
    who: str
    said: str | None = Field(None, description="when it was said, ISO 8601")
    recorded: str | None = Field(None, description="the day it was kept, if that is all there is")
    fidelity: str
    quoted_by: list[str] | None = Field(None, description="ids of records that led here")
    beside: str | None = Field(None, description="the id of the fragment whose neighbour it is")


class Summary(BaseModel):
    """A statement that quotes no words, under its own name; never an original."""

    id: str
    kind: str
    date: str | None = None
    summary: str
    fidelity: str = "summary_only"


class DeepResult(Budgeted):
    """Fragments, best first, or in the order of the ids that were named."""

    weak: bool = Field(default=False, description="nothing stands out: these are only the nearest")
    unknown: list[str] = Field(description="ids that were asked for and are not here")
    fragments: list[Fragment] = Field(description="words as they were said")
    summaries: list[Summary] = Field(description="records that quote nothing")

"""Judging by hand what a scope answers."""

from collections.abc import Iterable, Sequence
from typing import Any

from shiyi.core.errors import NotFoundError, UsageError
from shiyi.core.files import expanded
from shiyi.core.ids import is_trace_id
from shiyi.eval.dataset import Document, Query
from shiyi.eval.label import LabelSession, Pool, build_pool, check_target
from shiyi.eval.label_keys import run_labelling
from shiyi.eval.label_queries import queries_of, read_queries, typed_queries
from shiyi.eval.writing import writing
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.invoke import invoke
from shiyi.service.session import Session
from shiyi.service.table.operations import find_operation

TRACES, FEEDBACK = "traces", "feedback"  # in place of a file; a file of that name is ./traces
_NEWEST = 1000
_UNBOUNDED = 10_000_000  # tokens
_WITHOUT_MODEL: tuple[ask.Channel, ...] = ("keyword",)
_ALL: tuple[ask.Channel, ...] = ("hybrid", "keyword", "dense")
_NO_FEEDBACK = (
    "No answer that is still kept has feedback in {scope}; `shiyi feedback … --trace` gives some."
)


def handle_eval_label(
    session: Session, scope: str, request: ask.EvalLabelRequest
) -> answer.EvalLabelResult:
    """Pool what is found for each query, have it judged, and write the labelled set if asked."""
    target = expanded(request.export).absolute() if request.export else None
    if target is not None:  # said before somebody judges for an hour
        check_target(target)
    home = _Home(session, scope)
    queries, named = _wanted(home, request)
    home.check_scope()
    channels, notes = request.system, []
    if channels is None:
        problem = session.model_problem()
        channels = list(_WITHOUT_MODEL if problem else _ALL)
        notes = [f"Only what words find is judged: {problem}"] if problem else []
    for note in notes:
        session.show(note)
    pooled = _Pooled(home, channels, request.depth)
    pools = [pooled.pool(query, named.get(query.id, ())) for query in queries]
    directory = expanded(request.directory).absolute()
    with writing(directory):
        judging = LabelSession(directory, queries, pools)
    with judging:
        progress = run_labelling(judging, session.show, session.ask)
        exported = None
        if target is not None:
            with writing(target):
                written = judging.export(target, texts=request.texts)
            exported = answer.Labelled(
                path=str(target), queries=written.queries, judgements=written.judgements,
                left_out=written.left_out,
            )  # fmt: skip
    return answer.EvalLabelResult(
        directory=str(directory), done=progress.done, total=progress.total, exported=exported,
        notes=notes,
    )  # fmt: skip


class _Home:
    """Asks the home, through the daemon that serves it if there is one, and leaves no trace."""

    def __init__(self, session: Session, scope: str) -> None:
        self._session, self.scope = session, scope

    def ask(self, operation: str, **values: Any) -> Any:
        """Do an operation."""
        if self._session.elsewhere is not None:
            return self._session.elsewhere(find_operation(operation), values, self.scope)
        with self._session.traces_to(None):
            return invoke(self._session, operation, values, scope=self.scope)

    def check_scope(self) -> None:
        """Raise NotFoundError when the home has no such scope."""
        notes = self.ask("list", limit=1).notes
        if notes:
            raise NotFoundError(notes[0])


def _wanted(
    home: _Home, request: ask.EvalLabelRequest
) -> tuple[list[Query], dict[str, dict[str, None]]]:
    """Return the queries to judge, and for each by id the memories that feedback names for it."""
    typed = typed_queries(request.query or [])
    if request.queries is None:
        if not typed:
            raise UsageError(
                "Give a file of queries, traces, feedback, or what to ask with --query."
            )
        return typed, {}
    if request.queries == FEEDBACK:
        return _spoken_of(home, typed)
    found = (
        _searched(home) if request.queries == TRACES else read_queries(expanded(request.queries))
    )
    return list({one.id: one for one in (*typed, *found)}.values()), {}


def _searched(home: _Home) -> list[Query]:
    """Return what was searched for lately, newest first."""
    asked = home.ask("trace", limit=_NEWEST).traces
    queries = queries_of(one.text for one in asked if one.operation == "search")
    if not queries:
        raise NotFoundError(f"No search in {home.scope} has left a trace; give a file of queries.")
    return queries


def _spoken_of(
    home: _Home, typed: Sequence[Query]
) -> tuple[list[Query], dict[str, dict[str, None]]]:
    """Return the questions of answers that have feedback, with the memories that it names."""
    named: dict[str, dict[str, None]] = {}
    queries = {one.id: one for one in typed}
    for line in home.ask("trace", feedback=True, limit=_NEWEST).traces:
        trace = home.ask("trace", id=line.id).trace
        for query in queries_of(one.text for one in trace.questions):
            queries.setdefault(query.id, query)
            targets = (one.target for one in line.feedback if not is_trace_id(one.target))
            named.setdefault(query.id, {}).update(dict.fromkeys(targets))
    if not queries:
        raise NotFoundError(_NO_FEEDBACK.format(scope=home.scope))
    return list(queries.values()), named


class _Pooled:
    """Finds the documents to judge, and keeps their texts, each looked up once."""

    def __init__(self, home: _Home, channels: Sequence[ask.Channel], depth: int) -> None:
        self._home, self._channels, self._depth = home, channels, depth
        self._documents: dict[str, Document | None] = {}
        self._same: dict[str, str] = {}

    def pool(self, query: Query, named: Iterable[str]) -> Pool:
        """Return what any channel found, and what a person named though nothing found it."""
        rankings: dict[str, list[Document]] = {
            channel: self._found(query, channel) for channel in self._channels
        }
        spoken_of = (self._document(self._same.get(one, one)) for one in named)
        rankings["a person"] = [one for one in spoken_of if one is not None][: self._depth]
        return build_pool(query.id, rankings, depth=self._depth)

    def _found(self, query: Query, channel: ask.Channel) -> list[Document]:
        asked: dict[str, Any] = {
            "text": query.text, "limit": self._depth, "budget": _UNBOUNDED, "weak": True,
            "channel": channel,
        }  # fmt: skip
        try:
            found = self._home.ask("search", **asked)
        except UsageError:  # nothing in it that could be looked for
            return []
        documents = []
        for hit in found.hits:
            # One document stands for all that have the same words, whichever came first this time.
            same = (hit.id, *hit.also)
            self._same.update(dict.fromkeys(same, min(same)))
            documents.append(self._document(min(same)))
        return [one for one in documents if one is not None]

    def _document(self, id_: str) -> Document | None:
        """Return a memory with its text; None for one that is not there any more."""
        if id_ not in self._documents:
            try:
                text = _text(self._home.ask("show", id=id_))
            except NotFoundError:
                text = None
            self._documents[id_] = None if text is None else Document(id=id_, text=text)
        return self._documents[id_]


def _text(shown: answer.ShowResult) -> str:
    """Return the words of a capture, or what a record states."""
    if shown.capture is not None:
        return shown.capture.text
    record = shown.record
    assert record is not None
    stated = (record.title, record.gist, record.detail)
    return "\n".join(dict.fromkeys(part for part in stated if part))

"""Judging by hand what a scope answers."""

from collections.abc import Sequence

from shiyi.core.errors import NotFoundError, UsageError
from shiyi.core.files import expanded
from shiyi.eval.dataset import Document, Query
from shiyi.eval.label import LabelSession, Pool, build_pool, check_target
from shiyi.eval.label_keys import run_labelling
from shiyi.eval.label_queries import queries_of, read_queries
from shiyi.eval.writing import writing
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.invoke import invoke
from shiyi.service.session import Session

TRACES = "traces"  # in place of a file; a file of that name is ./traces
_NEWEST = 1000
_UNBOUNDED = 10_000_000  # tokens
_WITHOUT_MODEL: tuple[ask.Channel, ...] = ("keyword",)
_ALL: tuple[ask.Channel, ...] = ("hybrid", "keyword", "dense")


def handle_eval_label(
    session: Session, scope: str, request: ask.EvalLabelRequest
) -> answer.EvalLabelResult:
    """Pool what is found for each query, have it judged, and write the labelled set if asked."""
    queries = _queries(session, scope, request.queries)
    target = expanded(request.export).absolute() if request.export else None
    if target is not None:  # said before somebody judges for an hour
        check_target(target)
    session.existing_scope(scope)
    channels, notes = request.system, []
    if channels is None:
        problem = session.model_problem()
        channels = list(_WITHOUT_MODEL if problem else _ALL)
        notes = [f"Only what words find is judged: {problem}"] if problem else []
    for note in notes:
        session.show(note)
    pooled = _Pooled(session, scope, channels, request.depth)
    pools = [pooled.pool(query) for query in queries]
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


def _queries(session: Session, scope: str, given: str) -> list[Query]:
    """Return the queries of a file, or those that were asked in this scope, newest first."""
    if given != TRACES:
        return read_queries(expanded(given))
    _ = session.store  # only who owns the home reads its traces
    asked = session.traces.newest(scope, _NEWEST)
    queries = queries_of(
        trace["request"]["text"] for trace in asked if trace.get("operation") == "search"
    )
    if not queries:
        raise NotFoundError(f"No search in {scope} has left a trace; give a file of queries.")
    return queries


class _Pooled:
    """Finds the documents to judge, and keeps their texts, each looked up once."""

    def __init__(
        self, session: Session, scope: str, channels: Sequence[ask.Channel], depth: int
    ) -> None:
        self._session, self._scope = session, scope
        self._channels, self._depth = channels, depth
        self._documents: dict[str, Document] = {}

    def pool(self, query: Query) -> Pool:
        """Return what any channel found."""
        rankings: dict[str, list[Document]] = {
            channel: self._found(query, channel) for channel in self._channels
        }
        return build_pool(query.id, rankings, depth=self._depth)

    def _found(self, query: Query, channel: ask.Channel) -> list[Document]:
        asked = {
            "text": query.text, "limit": self._depth, "budget": _UNBOUNDED, "weak": True,
            "channel": channel,
        }  # fmt: skip
        try:
            with self._session.traces_to(None):
                found = invoke(self._session, "search", asked, scope=self._scope)
        except UsageError:  # nothing in it that could be looked for
            return []
        assert isinstance(found, answer.SearchResult)
        # One document stands for all that have the same words, whichever came first this time.
        return [self._document(min((hit.id, *hit.also))) for hit in found.hits]

    def _document(self, id_: str) -> Document:
        if id_ not in self._documents:
            shown = invoke(self._session, "show", {"id": id_}, scope=self._scope)
            assert isinstance(shown, answer.ShowResult)
            self._documents[id_] = Document(id=id_, text=_text(shown))
        return self._documents[id_]


def _text(shown: answer.ShowResult) -> str:
    """Return the words of a capture, or what a record states."""
    if shown.capture is not None:
        return shown.capture.text
    record = shown.record
    assert record is not None
    stated = (record.title, record.gist, record.detail)
    return "\n".join(dict.fromkeys(part for part in stated if part))

"""The seam between a retrieval handler and its trace.

with Tracing(session, "search", scope, request) as trace:
    found = search(..., trace)
    return trace.answer(found)
"""

from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from types import TracebackType
from typing import Any, Self, TypeVar

from pydantic import BaseModel

from shiyi.core.errors import ShiyiError
from shiyi.core.ids import check_turn
from shiyi.indexer.documents import documents_fingerprint
from shiyi.retrieval.outcome import outcome_of
from shiyi.retrieval.trace import Tracer
from shiyi.service.session import Session
from shiyi.store.traces import new_trace_id

Answer = TypeVar("Answer", bound=BaseModel)


class Tracing(Tracer):
    """Collects what one call does, and keeps it when the call answers or fails.

    A call that is refused as it stands leaves no trace, and neither does one in a scope or a home
    that is not there.
    """

    def __init__(self, session: Session, operation: str, scope: str, request: BaseModel) -> None:
        _ = session.store  # raises when there is no home to keep anything in
        self._keep = session.keep_trace if session.holds(scope) else None
        super().__init__(on=self._keep is not None)
        self._session, self._scope = session, scope
        if self.on:
            self.id = new_trace_id()
            asked = request.model_dump(mode="json", exclude_none=True)
            turn, maintenance = asked.pop("turn", None), asked.pop("maintenance", False)
            self._head = {
                "id": self.id, "at": datetime.now(UTC).astimezone().isoformat(),
                "operation": operation, "request": asked,
                **({} if turn is None else {"turn": check_turn(turn)}),
                **({"maintenance": True} if maintenance else {}),
            }  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Keep the trace of a call that failed."""
        if isinstance(error, Exception) and (outcome := outcome_of(error)):
            code = error.code if isinstance(error, ShiyiError) else "internal"
            self._finish({"outcome": outcome, "error": code, "tokens": None})

    def answer(self, found: Answer) -> Answer:
        """Keep the trace, and return the answer with its id, or null where it was not kept.

        The answer has `outcome` and `trace`, and may have `tokens`.
        """
        told = {"outcome": found.outcome, "tokens": getattr(found, "tokens", None)}  # type: ignore[attr-defined]
        return found.model_copy(update={"trace": self._finish(told)})

    def _finish(self, told: dict[str, Any]) -> str | None:
        if self._keep is None:
            return None
        engine = {
            "model": None, "calibration": None, "generation": None, "documents": None,
            "sequence": self._session.store.last_seq, "version": _version(),
            "analyzer": documents_fingerprint(), "counter": self._session.settings.tokens,
        }  # fmt: skip
        content = {**self._head, **told, **self.told(), "engine": engine | (self.engine or {})}
        self._keep(self._scope, content)
        return self.id


@cache
def _version() -> str:
    return metadata.version("shiyi")

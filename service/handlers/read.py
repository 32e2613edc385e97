"""Reading: one memory whole, or many page by page."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from shiyi.core.errors import NotFoundError, UsageError
from shiyi.core.ids import check_id
from shiyi.lifecycle.names import capture_id_of, record_id_of
from shiyi.retrieval.trust import origins
from shiyi.service import requests as ask
from shiyi.service import responses as answer
from shiyi.service.references import given, whole
from shiyi.service.session import Session
from shiyi.service.views import (
    attachment_view,
    capture_view,
    feedback_view,
    link_view,
    list_item_of,
    record_view,
)
from shiyi.store import Capture, HeadFilter, Record


def handle_show(session: Session, scope: str, request: ask.ShowRequest) -> answer.ShowResult:
    """Read one record or capture, by its id or by the name that its source gave it."""
    store = session.store
    reference = whole(session, scope, request.id)
    id_ = record_id_of(scope, reference)
    versions = store.versions(scope, id_)
    capture = None
    if not versions:
        id_ = capture_id_of(scope, reference)
        capture = store.capture(scope, id_)
    attachment = None if versions or capture else store.attachments.find(scope, id_)
    if not versions and capture is None and attachment is None:
        raise NotFoundError(
            f"There is no such record, capture or attachment in the scope {scope}; `shiyi list` "
            "and `shiyi search` show the ids."
        )
    if not versions and request.versions:
        raise UsageError("A capture has no versions, since words never change; leave versions out.")
    redirects = store.redirects(scope) if versions and versions[-1].kind == "entity" else {}
    own = [id_, *(old for old, final in redirects.items() if final == id_)]
    both = (store.links_from(scope, own), store.links_to(scope, own))
    links = [link for found in both for one in own for link in found.get(one, [])]
    return answer.ShowResult(
        scope=scope,
        record=record_view(versions[-1]) if versions else None,
        capture=capture_view(capture) if capture else None,
        attachment=attachment_view(store, attachment) if attachment else None,
        links=[link_view(link) for link in links],
        versions=[record_view(one) for one in versions[:-1]] if request.versions else [],
        feedback=[feedback_view(one) for one in store.feedback(scope, [id_])],
        notes=_on_merging(id_, own, redirects),
    )


def handle_origins(
    session: Session, scope: str, request: ask.OriginsRequest
) -> answer.OriginsResult:
    """Say whose word memories are."""
    meant = {text: given(session, scope, text) for text in request.ids}
    found = {one.id: one for one in origins(session.store, scope, list(meant.values()))}
    views = [
        answer.OriginView(**{**asdict(found[id_]), "id": text})
        for text, id_ in meant.items()
        if id_ in found
    ]
    unknown = [text for text, id_ in meant.items() if id_ not in found]
    return answer.OriginsResult(scope=scope, origins=views, unknown=unknown)


def _on_merging(id_: str, own: Sequence[str], redirects: Mapping[str, str]) -> list[str]:
    """Return what is to know of an entity that is one with others."""
    if id_ in redirects:
        return [f"It was merged into {redirects[id_]}, which stands for it."]
    return [f"It also stands for {old}, which was merged into it." for old in own[1:]]


def handle_list(session: Session, scope: str, request: ask.ListRequest) -> answer.ListResult:
    """Read one page of a scope."""
    if request.what == "captures":
        for name in ("kind", "layer", "status", "topic"):
            if getattr(request, name) is not None:
                raise UsageError(f"Captures have no {name}; leave it out, or list records.")
    store = session.store
    page: dict[str, Any] = {
        "order": request.order,
        "after": check_id(request.after) if request.after else None,
        "limit": request.limit + 1,
    }
    rows: Sequence[Record | Capture]
    if request.what == "captures":
        rows = store.page_captures(scope, **page)
    else:
        wanted = HeadFilter(
            kinds=_only(request.kind), layers=_only(request.layer), statuses=_only(request.status),
            topics=_only(request.topic),
        )  # fmt: skip
        rows = store.find_heads(scope, wanted, **page)
    more = len(rows) > request.limit
    items = [list_item_of(one) for one in rows[: request.limit]]
    return answer.ListResult(
        scope=scope,
        items=items,
        next=items[-1].id if more else None,
        notes=session.notes_on(scope),
    )


def _only(wanted: str | None) -> tuple[str, ...] | None:
    return None if wanted is None else (wanted,)

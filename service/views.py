"""From rows of the store to what a response shows."""

from datetime import date, datetime

from shiyi.service.responses import CaptureView, FeedbackView, LinkView, ListItem, RecordView
from shiyi.service.responses.turns import AttachmentView
from shiyi.store import Attachment, Capture, Feedback, Link, Record, Store
from shiyi.store.salience import LEVELS, level_of

_TITLE = 80  # characters of a capture shown in a list


def record_view(record: Record) -> RecordView:
    """Return what is shown of a version."""
    return RecordView(
        record_id=record.record_id,
        version=record.version,
        etag=record.etag,
        kind=record.kind,
        layer=record.layer,
        status=record.status,
        title=record.title,
        gist=record.gist,
        detail=record.detail,
        topics=list(record.topics),
        aliases=list(record.aliases),
        salience=record.salience,
        level=LEVELS[level_of(record.salience)],
        salience_source=record.salience_source,
        date_start=_iso(record.date_start),
        date_end=_iso(record.date_end),
        date_precision=record.date_precision,
        date_basis=record.date_basis,
        phase=record.phase,
        created_at=record.created_at.isoformat(),
        updated_at=record.updated_at.isoformat(),
        reason=record.reason,
        external_id=record.external_id,
        attrs=dict(record.attrs),
    )


def capture_view(capture: Capture) -> CaptureView:
    """Return what is shown of a capture."""
    return CaptureView(
        capture_id=capture.capture_id,
        text=capture.text,
        utf8_sha256=capture.utf8_sha256,
        speaker=capture.speaker,
        session=capture.session_id,
        turn=capture.turn_id,
        previous=capture.previous_id,
        captured_at=_iso(capture.captured_at),
        recorded_at=capture.recorded_at.isoformat(),
        origin=capture.origin,
        fidelity=capture.fidelity,
        source_path=capture.source_path,
        external_id=capture.external_id,
        attrs=dict(capture.attrs),
    )


def attachment_view(store: Store, attachment: Attachment) -> AttachmentView:
    """Return what is shown of an attachment, with the captures that hold its words."""
    steps = store.turns.of_attachment(attachment.scope, attachment.attachment_id)
    return AttachmentView(
        attachment_id=attachment.attachment_id,
        sha256=attachment.sha256,
        bytes=attachment.bytes,
        name=attachment.name,
        media_type=attachment.media_type,
        turn=attachment.turn_id,
        source_path=attachment.source_path,
        recorded_at=attachment.recorded_at.isoformat(),
        path=str(store.attachments.path(attachment.sha256)),
        whole=store.attachments.is_there(attachment),
        captures=[one.capture_id for one in steps if one.step == "capture" and one.capture_id],
    )


def link_view(link: Link) -> LinkView:
    """Return what is shown of a link; a span only where words are quoted."""
    spanned = link.span_start >= 0
    return LinkView(
        src=link.src,
        rel=link.rel,
        dst=link.dst,
        start=link.span_start if spanned else None,
        end=link.span_end if spanned else None,
    )


def feedback_view(one: Feedback) -> FeedbackView:
    """Return what is shown of feedback."""
    return FeedbackView(
        id=one.feedback_id, verdict=one.verdict, capture=one.capture_id, start=one.span_start,
        end=one.span_end, note=one.note, at=one.created_at.isoformat(),
    )  # fmt: skip


def list_item_of(row: Record | Capture) -> ListItem:
    """Return the line of a record or a capture."""
    if isinstance(row, Record):
        return ListItem(
            id=row.record_id,
            type="record",
            kind=row.kind,
            layer=row.layer,
            status=row.status,
            date=_iso(row.date_start),
            title=row.title,
            external_id=row.external_id,
            written=row.updated_at.isoformat(),
        )
    text = " ".join(row.text[: 2 * _TITLE].split())
    return ListItem(
        id=row.capture_id,
        type="capture",
        kind=None,
        layer=None,
        status=None,
        date=_iso(row.captured_at.date() if row.captured_at else None),
        title=text if len(text) <= _TITLE else f"{text[: _TITLE - 1]}…",
        external_id=row.external_id,
        written=row.recorded_at.isoformat(),
    )


def _iso(value: date | datetime | None) -> str | None:
    return None if value is None else value.isoformat()

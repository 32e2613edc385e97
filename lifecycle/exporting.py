"""Export: a scope as plain files that people can read and import takes back."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from shiyi.core.errors import HomeUnwritableError, UsageError
from shiyi.core.files import make_private_directory, owner_only
from shiyi.core.iterate import batched
from shiyi.lifecycle.export_block import EXPORT_BLOCK, READ_AS_LEVEL
from shiyi.lifecycle.exporting_turns import export_turns
from shiyi.store import Capture, Feedback, Link, Record, Store

FORMATS = ("jsonl", "markdown")
_BATCH = 500
_UNSAFE = re.compile(r"[^\w-]+")
_SLUG = 40


def export_scope(store: Store, scope: str, directory: Path, format_: str) -> dict[str, int]:
    """Write the scope into a new or empty directory and return how many of each were written.

    They are counted as the status of a scope counts them, in whatever file they stand.

    `jsonl` gives captures.jsonl, records.jsonl and structure.jsonl (the links that no record names
    itself) and, when there is any, feedback.jsonl, which import takes back without loss;
    history.jsonl, every older version; and turns.jsonl, the receipts and steps. `markdown` gives a
    file for each record and capture. Both give attachments.jsonl and the files of attachments
    under their SHA-256, if there are any; a backup takes turns and attachments back, an import
    does not.

    Raises UsageError when the directory holds something, HomeUnwritableError when it cannot be
    written.
    """
    try:
        make_private_directory(directory)
        if any(directory.iterdir()):
            raise UsageError(f"{directory} is not empty; name a new or empty directory.")
        with owner_only():
            write = _export_markdown if format_ == "markdown" else _export_jsonl
            return {**write(store, scope, directory), **export_turns(store, scope, directory)}
    except OSError as error:
        raise HomeUnwritableError(
            f"{directory} cannot be written ({error.strerror}); the export is not complete."
        ) from None


def _export_jsonl(store: Store, scope: str, directory: Path) -> dict[str, int]:
    counts = {"captures": 0, "records": 0, "versions": 0, "links": 0}
    with (directory / "captures.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        for capture in store.iterate_captures(scope):
            file.write(_line(_capture_form(capture)))
            counts["captures"] += 1
    with (
        (directory / "records.jsonl").open("w", encoding="utf-8", newline="\n") as heads,
        (directory / "history.jsonl").open("w", encoding="utf-8", newline="\n") as history,
    ):
        for versions, links in _records(store, scope):
            heads.write(_line(_record_form(versions[-1], links)))
            counts["records"] += 1
            counts["versions"] += len(versions)
            for version in versions[:-1]:
                history.write(_line({"version": version.version, **_record_form(version, [])}))
    with (directory / "structure.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        for link in store.iterate_links(scope):
            counts["links"] += 1
            if not _is_short(link):
                file.write(_line(_link_form(link)))
    said = [_line(_feedback_form(one)) for one in store.iterate_feedback(scope)]
    if said:
        with (directory / "feedback.jsonl").open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(said)
        counts["feedback"] = len(said)
    return counts


def _records(store: Store, scope: str) -> Iterator[tuple[list[Record], list[Link]]]:
    for heads in batched(store.iterate_heads(scope), _BATCH):
        ids = [head.record_id for head in heads]
        links, versions = store.links_from(scope, ids), store.versions_of(scope, ids)
        for id_ in ids:
            yield versions[id_], links.get(id_, [])


def _capture_form(capture: Capture) -> dict[str, Any]:
    form = _without_none(
        {
            "type": "capture",
            "id": capture.capture_id,
            "text": capture.text,
            "speaker": capture.speaker,
            "session": capture.session_id,
            "previous": capture.previous_id,
            "captured_at": _iso(capture.captured_at),
            "origin": capture.origin,
            "fidelity": capture.fidelity,
            "attrs": dict(capture.attrs) or None,
            EXPORT_BLOCK: _without_none(
                {
                    "utf8_sha256": capture.utf8_sha256,
                    "recorded_at": _iso(capture.recorded_at),
                    "turn_id": capture.turn_id,
                    "source_path": capture.source_path,
                    "external_id": capture.external_id,
                }
            ),
        }
    )
    if capture.session_id is not None and capture.previous_id is None:
        form["previous"] = None  # without it, the line before in the session would be taken
    return form


def _record_form(record: Record, links: list[Link]) -> dict[str, Any]:
    quotes = [
        {"capture": link.dst, "start": link.span_start, "end": link.span_end}
        for link in links
        if link.rel == "quotes" and _is_short(link)
    ]
    return _without_none(
        {
            "type": "record",
            "id": record.record_id,
            "kind": record.kind,
            "layer": record.layer,
            "status": record.status,
            "title": record.title,
            "gist": record.gist,
            "detail": record.detail,
            "topics": list(record.topics) or None,
            "aliases": list(record.aliases) or None,
            "salience": record.salience if _stated(record) and not _low(record) else None,
            "date_start": _iso(record.date_start),
            "date_end": _iso(record.date_end),
            "date_precision": record.date_precision,
            "date_basis": record.date_basis,
            "phase": record.phase,
            "quotes": quotes or None,
            "supersedes": _targets(links, "supersedes"),
            "contradicts": _targets(links, "contradicts"),
            "reason": record.reason,
            "attrs": dict(record.attrs) or None,
            EXPORT_BLOCK: _without_none(
                {
                    "created_at": _iso(record.created_at),
                    "updated_at": _iso(record.updated_at),
                    "salience_source": record.salience_source if _stated(record) else None,
                    "salience": record.salience if _stated(record) and _low(record) else None,
                    "external_id": record.external_id,
                }
            ),
        }
    )


def _export_markdown(store: Store, scope: str, directory: Path) -> dict[str, int]:
    counts = {"captures": 0, "records": 0}
    for capture in store.iterate_captures(scope):
        month = capture.captured_at.strftime("%Y-%m") if capture.captured_at else "undated"
        front: dict[str, Any] = {
            "id": capture.capture_id,
            "date": _iso(capture.captured_at),
            "speaker": capture.speaker,
            "session": capture.session_id,
            "fidelity": capture.fidelity,
            "sha256": capture.utf8_sha256,
        }
        path = directory / "captures" / month / f"{capture.capture_id}.md"
        _write_note(path, front, capture.text)
        counts["captures"] += 1
    for versions, links in _records(store, scope):
        record = versions[-1]
        front = {
            "id": record.record_id,
            "version": record.version,
            "kind": record.kind,
            "layer": record.layer,
            "status": record.status,
            "title": record.title,
            "date": _iso(record.date_start),
            "date_end": _iso(record.date_end),
            "topics": list(record.topics) or None,
            "aliases": list(record.aliases) or None,
            "salience": record.salience,
            "sources": sorted({link.dst for link in links if link.rel == "quotes"}) or None,
        }
        body = "\n\n".join(filter(None, [record.gist, record.detail]))
        path = directory / "records" / record.kind / f"{_slug(record.title)}-{record.record_id}.md"
        _write_note(path, front, body)
        counts["records"] += 1
    return counts


def _write_note(path: Path, front: dict[str, Any], body: str) -> None:
    make_private_directory(path.parent)
    header = yaml.safe_dump(_without_none(front), allow_unicode=True, sort_keys=False)
    path.write_bytes(f"---\n{header}---\n{body}".encode())


def _slug(title: str) -> str:
    return _UNSAFE.sub("-", title)[:_SLUG].strip("-") or "record"


def _stated(record: Record) -> bool:
    return record.salience_source != "default"


def _low(record: Record) -> bool:
    return record.salience < READ_AS_LEVEL


def _is_short(link: Link) -> bool:
    """Tell whether a field of its record says all of a link."""
    if link.attrs:
        return False
    if link.rel == "quotes":
        return 0 <= link.span_start < link.span_end
    return link.rel in {"supersedes", "contradicts"} and link.span_start == link.span_end == -1


def _link_form(link: Link) -> dict[str, Any]:
    spanned = (link.span_start, link.span_end) != (-1, -1)
    return _without_none(
        {
            "type": "link",
            "src": link.src,
            "rel": link.rel,
            "dst": link.dst,
            "start": link.span_start if spanned else None,
            "end": link.span_end if spanned else None,
            "attrs": dict(link.attrs) or None,
        }
    )


def _feedback_form(one: Feedback) -> dict[str, Any]:
    return _without_none(
        {
            "type": "feedback", "id": one.feedback_id, "verdict": one.verdict,
            "target": one.target_id, "capture": one.capture_id, "start": one.span_start,
            "end": one.span_end, "trace": one.trace_id, "note": one.note,
            "at": _iso(one.created_at),
        }
    )  # fmt: skip


def _targets(links: list[Link], relation: str) -> list[str] | None:
    return [link.dst for link in links if link.rel == relation and _is_short(link)] or None


def _line(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"


def _iso(value: Any) -> str | None:
    return None if value is None else str(value.isoformat())


def _without_none(content: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if value is not None}

"""Export of what stands beside words and records: attachments with their bytes, and turns."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from shiyi.core.files import make_private_directory
from shiyi.core.iterate import batched
from shiyi.store import Attachment, Entry, Receipt, Store

_BATCH = 500


def export_turns(store: Store, scope: str, directory: Path) -> dict[str, int]:
    """Write the attachments and turns of a scope, if there are any; return how many of each.

    A turn has several lines, its receipt and its steps, and counts once.

    Raises OSError when they cannot be written, or when the bytes of an attachment are missing.
    """
    found: dict[str, Iterator[Attachment | Receipt | Entry]] = {
        "attachments": store.attachments.iterate(scope), "turns": store.turns.iterate(scope),
    }  # fmt: skip
    counts = {}
    for name, rows in found.items():
        seen: set[str] = set()
        for batch in batched(rows, _BATCH):
            seen.update(filter(None, map(_own_id, batch)))
            with (directory / f"{name}.jsonl").open("a", encoding="utf-8", newline="\n") as file:
                file.writelines(map(_line, batch))
            for row in batch:
                if isinstance(row, Attachment):
                    _copy(store, row, directory / name)
        if seen:
            counts[name] = len(seen)
    return counts


def _own_id(row: Attachment | Receipt | Entry) -> str | None:
    return row.attachment_id if isinstance(row, Attachment) else row.turn_id


def _copy(store: Store, attachment: Attachment, directory: Path) -> None:
    target = make_private_directory(directory) / attachment.sha256
    if not target.exists():
        shutil.copyfile(store.attachments.path(attachment.sha256), target)


def _line(row: Attachment | Receipt | Entry) -> str:
    """Return a row with its type and without its scope, as captures and records are written."""
    names = {Attachment: "attachment", Receipt: "receipt", Entry: "step"}
    told: dict[str, Any] = {"type": names[type(row)], **asdict(row)}
    del told["scope"]
    kept = {name: value for name, value in told.items() if value not in (None, ())}
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"), default=str) + "\n"

"""The truth: captures, records, links and the feed of what changed, in one DuckDB file."""

from shiyi.store.attachments import Attachment
from shiyi.store.heads import HeadFilter, Phase
from shiyi.store.rows import Capture, Change, Feedback, Link, Record, encode_json
from shiyi.store.store import Store
from shiyi.store.transaction import Transaction
from shiyi.store.turns import Entry, Receipt

__all__ = [
    "Attachment", "Capture", "Change", "Entry", "Feedback", "HeadFilter", "Link", "Phase",
    "Receipt", "Record", "Store", "Transaction", "encode_json",
]  # fmt: skip

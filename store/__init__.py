"""The truth: captures, records, links and the feed of what changed, in one DuckDB file."""

from shiyi.store.heads import HeadFilter, Phase
from shiyi.store.rows import Capture, Change, Link, Record, encode_json
from shiyi.store.store import Store
from shiyi.store.transaction import Transaction

__all__ = [
    "Capture", "Change", "HeadFilter", "Link", "Phase", "Record", "Store", "Transaction",
    "encode_json",
]  # fmt: skip

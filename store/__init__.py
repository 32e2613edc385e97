"""The truth: captures, records, links and the feed of what changed, in one DuckDB file."""

from shiyi.store.rows import Capture, Change, Link, Record, encode_json
from shiyi.store.store import Store
from shiyi.store.transaction import Transaction

__all__ = ["Capture", "Change", "Link", "Record", "Store", "Transaction", "encode_json"]

"""The truth: captures, records, links and the feed of what changed, in one DuckDB file.

DuckDB is loaded by the first use of a name of this package, so that what only asks a daemon does
without.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
_MODULES = {
    "Attachment": "attachments", "HeadFilter": "heads", "Phase": "heads", "Store": "store",
    "Transaction": "transaction", "Entry": "turns", "Receipt": "turns",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'shiyi.store' has no attribute {name!r}")
    found = getattr(import_module(f"shiyi.store.{_MODULES.get(name, 'rows')}"), name)
    globals()[name] = found
    return found

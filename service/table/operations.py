"""The one table: everything that can be done to a memory.

Every door (command line, Python, HTTP, MCP, dashboard) is made from it. Models and handlers are
named, not imported, so that reading the table costs nothing; a test resolves them all.
"""

from shiyi.service.table.incoming import INCOMING
from shiyi.service.table.operation import Operation
from shiyi.service.table.reading import READING
from shiyi.service.table.records import RECORDS
from shiyi.service.table.upkeep import UPKEEP

__all__ = ["GROUPS", "OPERATIONS", "Operation", "find_operation"]

GROUPS = {
    "entity": "Make one entity of two, or two of one again.",
    "eval": "Measure how good the search is, on labelled sets or on memories of your own.",
    "followup": "Come back to what was left open, and close it.",
    "salience": "Look after how much memories weigh.",
    "token": "Say who may come in over HTTP, and as what.",
}
OPERATIONS: tuple[Operation, ...] = (*INCOMING, *READING, *RECORDS, *UPKEEP)


def find_operation(name: str) -> Operation:
    """Return the operation of that name; raises KeyError when there is none."""
    return {operation.name: operation for operation in OPERATIONS}[name]

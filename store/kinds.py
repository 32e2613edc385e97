"""The vocabulary of the store: what a record can be, how long it lives, how exact its words are.

The order of each tuple is part of the index format (a value is stored as its position), so new
values are appended.
"""

KINDS: tuple[str, ...] = (
    "event", "experience", "feeling", "state", "decision", "fact", "preference", "value",
    "rule", "heuristic", "promise", "boundary", "relationship", "insight", "canon", "model",
    "entity", "facet", "hypothesis", "followup", "checkpoint", "handoff", "method", "procedure",
)  # fmt: skip
LAYERS: tuple[str, ...] = ("note", "session", "core", "self", "capability", "procedure")
DURABLE_LAYERS: tuple[str, ...] = ("core", "self", "capability", "procedure")
STATUSES: tuple[str, ...] = ("active", "superseded", "archived")
FIDELITIES: tuple[str, ...] = (
    "verbatim", "exact_attachment", "transcription", "ocr", "external_material", "summary_only",
)  # fmt: skip
ORIGINS: tuple[str, ...] = ("conversation", "import", "note", "document", "attachment")
DATE_PRECISIONS: tuple[str, ...] = (
    "day", "month", "year", "range", "phase", "relative", "unknown",
)  # fmt: skip
DATE_BASES: tuple[str, ...] = ("stated", "source", "inferred", "unknown")
RELATIONS: tuple[str, ...] = (
    "quotes", "mentions", "supersedes", "contradicts", "supports", "alternative_to", "precedes",
    "member_of", "promoted_to", "merged_into", "redirects_to", "about",
)  # fmt: skip
CHAINS = ("supersedes", "merged_into", "redirects_to")  # relations that never form a circle
OUTCOMES = ("answered", "declined", "resolved")  # of a follow-up
VERDICTS: tuple[str, ...] = ("helpful", "missed", "corrected", "unclear")
FOOTPRINT = "footprint"  # the attribute of an event that marks a micro record of what was done

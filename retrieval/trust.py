"""Whose word a memory is: what an agent should know before it believes it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from shiyi.store import Capture, Record, Store

Trust = Literal["user", "agent", "imported", "web"]
TRUSTS: tuple[Trust, ...] = ("user", "agent", "imported", "web")  # from the most to the least
_MACHINES = frozenset({"agent", "assistant", "model", "system", "tool"})


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a memory comes from. origin, speaker and fidelity are those of a capture."""

    id: str
    trust: Trust
    origin: str | None = None
    speaker: str | None = None
    fidelity: str | None = None


def origins(store: Store, scope: str, ids: Sequence[str]) -> list[Origin]:
    """Return where each of the memories comes from that are there, in the order given.

    A record is trusted as its weakest source is. One that says something else than the words it
    quotes, or quotes none, is a statement that an agent made, whatever it rests on.
    """
    captures = store.captures(scope, ids)
    records = {id_: rows[-1] for id_, rows in store.versions_of(scope, ids).items() if rows}
    links = store.links_from(scope, list(records), rels=["quotes"])
    quoted = {id_: list(dict.fromkeys(one.dst for one in links.get(id_, []))) for id_ in records}
    sources = store.captures(scope, sorted({one for many in quoted.values() for one in many}))
    found: list[Origin] = []
    for id_ in ids:
        if (said := captures.get(id_)) is not None:
            found.append(Origin(id_, _of(said), said.origin, said.speaker, said.fidelity))
        elif (record := records.get(id_)) is not None:
            found.append(Origin(id_, _of_record(record, quoted[id_], sources)))
        elif store.attachments.find(scope, id_) is not None:
            found.append(Origin(id_, "imported", "attachment", fidelity="exact_attachment"))
    return found


def weakest(trusts: Iterable[Trust]) -> Trust:
    """Return the least of some trusts; of none, that of an agent."""
    return max(trusts, key=TRUSTS.index, default="agent")


def _of(said: Capture) -> Trust:
    if said.fidelity == "external_material":
        return "web"
    if said.origin != "conversation" or said.source_path is not None:
        return "imported"
    return "agent" if said.speaker.lower() in _MACHINES else "user"


def _of_record(record: Record, quoted: Sequence[str], sources: Mapping[str, Capture]) -> Trust:
    said = [sources[one] for one in quoted if one in sources]
    least = weakest(_of(one) for one in said)
    own_words = any(record.gist.strip() in one.text for one in said)
    return least if own_words else weakest((least, "agent"))

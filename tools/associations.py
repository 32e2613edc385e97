"""Say how many of the labelled associations of the sample archive are found: `make associations`.

Each remark is searched as usual; its first eight hits count as shown. An answer is found when it
is one of the six associations, or stands beside one: words that a record quotes, or another turn
of the same dialogue. Then the same through `probe` with its usual budget, whose first twenty hits
count as shown, with what its cards hold besides.
"""

import json
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from shiyi.indexer.documents import FRAGMENT, RECORD
from shiyi.indexer.index import Filter, ScopeIndex
from shiyi.models.tokens import get_counter
from shiyi.retrieval.associate import Association, associate
from shiyi.retrieval.level_results import ProbeResult
from shiyi.retrieval.search import Query, find, search
from shiyi.service.handlers.find import filter_of
from shiyi.service.invoke import invoke
from shiyi.service.requests import ProbeRequest
from shiyi.service.session import Session
from shiyi.service.trial import Trial

SAMPLE = Path(__file__).resolve().parents[1] / "eval" / "data" / "sample"
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
_SHOWN = 8
_LOOKED_AT = 20
_ACTIVE = Filter(statuses=frozenset({"active"}))


def main() -> None:
    """Print a line for each remark, and the shares."""
    lines = (SAMPLE / "associations.jsonl").read_text("utf-8").splitlines()
    labelled = [json.loads(line) for line in lines]
    found = answers = itself = answered = probed = anywhere = 0
    with tempfile.TemporaryDirectory(prefix="shiyi-associations-") as directory:
        for one, names, beside, (brought, shown) in _asked(Path(directory), labelled):
            probed += len(brought.intersection(one["answers"]))
            anywhere += len(shown.intersection(one["answers"]))
            hits = [answer for answer in one["answers"] if answer in names or answer in beside]
            itself += sum(answer in names for answer in one["answers"])
            found, answers = found + len(hits), answers + len(one["answers"])
            answered += bool(hits)
            print(f"{one['_id']}  {len(hits)} of {len(one['answers'])}  {' '.join(names)}")
    print(
        f"{found} of {answers} answers ({found / answers:.0%}), {itself} by themselves; "
        f"{answered} of {len(labelled)} remarks have one."
    )
    print(
        f"Through probe: {probed} of {answers} ({probed / answers:.0%}) among the associations, "
        f"{anywhere} ({anywhere / answers:.0%}) anywhere in the answer."
    )


def _asked(
    directory: Path, labelled: list[dict[str, Any]]
) -> list[tuple[dict[str, Any], list[str], set[str], tuple[set[str], set[str]]]]:
    """Return each remark with the names of its associations and of what stands beside them.

    Last, the same two together as probe shows them, and the names of all that it shows.
    """
    with Session(directory / "home", create=True) as session:
        trial = Trial(session, words_only=False)
        trial.take_vectors()
        trial.take_in(SAMPLE, "sample")
        trial.index(["sample"])
        trial.keep_vectors()
        index = session.indexes.get("sample")
        asked = []
        for one in labelled:
            brought = _brought(session, index, one["text"])
            names = [_name(index, association.id) for association in brought]
            beside = {_name(index, id_) for association in brought for id_ in association.also}
            asked.append((one, names, beside, _probed(session, index, one["text"])))
        return asked


def _brought(session: Session, index: ScopeIndex, text: str) -> list[Association]:
    query = Query(text=text, limit=_LOOKED_AT, budget=1_000_000, now=NOW, weak=True, filter=_ACTIVE)
    hits = search(session.indexes, "sample", query, get_counter()).hits
    return associate(
        index, session.store, text, [(hit.id, hit.score) for hit in hits],
        shown={id_ for hit in hits[:_SHOWN] for id_ in (hit.id, *hit.also)},
        allowed=index.allowed(_ACTIVE, NOW),
    )  # fmt: skip


def _probed(session: Session, index: ScopeIndex, text: str) -> tuple[set[str], set[str]]:
    """Return the names of a probe's associations with what stands beside them, and of all."""
    asked = ProbeRequest.model_validate({"queries": [text], "now": NOW.isoformat()})
    answer = invoke(session, "probe", asked.model_dump(exclude_defaults=True), scope="sample")
    assert isinstance(answer, ProbeResult)
    query = Query(text=text, limit=asked.limit, now=NOW, filter=filter_of(asked))
    found = find(session.indexes, "sample", query)
    first = found.hits[:_LOOKED_AT]
    also = {
        one.id: one.also
        for one in associate(
            index, session.store, text, [(hit.id, hit.score) for hit in first],
            shown={id_ for hit in first for id_ in (hit.id, *hit.also)}, allowed=found.allowed,
        )
    }  # fmt: skip
    brought = [index.ids_beginning(card.id)[0] for card in answer.associations]
    near = {_name(index, id_) for one in brought for id_ in (one, *also[one])}
    cards = [*answer.records, *answer.related, *answer.entities, *answer.facets, *answer.beside]
    shown = {id_ for card in cards for id_ in (card.id, *(card.also or ()))}
    names = {_name(index, index.ids_beginning(id_)[0]) for id_ in shown}
    return near, near | names


def _name(index: ScopeIndex, id_: str) -> str:
    slot = (index.find(RECORD, id_) or index.find(FRAGMENT, id_))[0]
    name: str = index.card(slot)["external_id"]
    return name


if __name__ == "__main__":
    main()

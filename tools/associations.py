"""Say how many of the labelled associations of the sample archive are found: `make associations`.

Each remark is searched as usual; its first eight hits count as shown. An answer is found when it
is one of the six associations, or stands beside one: words that a record quotes, or another turn
of the same dialogue.
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
from shiyi.retrieval.search import Query, search
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
    found = answers = itself = answered = 0
    with tempfile.TemporaryDirectory(prefix="shiyi-associations-") as directory:
        for one, names, beside in _asked(Path(directory), labelled):
            hits = [answer for answer in one["answers"] if answer in names or answer in beside]
            itself += sum(answer in names for answer in one["answers"])
            found, answers = found + len(hits), answers + len(one["answers"])
            answered += bool(hits)
            print(f"{one['_id']}  {len(hits)} of {len(one['answers'])}  {' '.join(names)}")
    print(
        f"{found} of {answers} answers ({found / answers:.0%}), {itself} by themselves; "
        f"{answered} of {len(labelled)} remarks have one."
    )


def _asked(
    directory: Path, labelled: list[dict[str, Any]]
) -> list[tuple[dict[str, Any], list[str], set[str]]]:
    """Return each remark with the names of its associations and of what stands beside them."""
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
            asked.append((one, names, beside))
        return asked


def _brought(session: Session, index: ScopeIndex, text: str) -> list[Association]:
    query = Query(text=text, limit=_LOOKED_AT, budget=1_000_000, now=NOW, weak=True, filter=_ACTIVE)
    hits = search(session.indexes, "sample", query, get_counter()).hits
    return associate(
        index, session.store, text, [(hit.id, hit.score) for hit in hits],
        shown={id_ for hit in hits[:_SHOWN] for id_ in (hit.id, *hit.also)},
        allowed=index.allowed(_ACTIVE, NOW),
    )  # fmt: skip


def _name(index: ScopeIndex, id_: str) -> str:
    slot = (index.find(RECORD, id_) or index.find(FRAGMENT, id_))[0]
    name: str = index.card(slot)["external_id"]
    return name


if __name__ == "__main__":
    main()

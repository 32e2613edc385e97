"""A small home with all that can be in one, and a call of every operation that writes to it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shiyi.lifecycle.names import record_id_of
from shiyi.service.invoke import invoke
from shiyi.service.session import Session

SAID = "我在台南的老家種了三棵芒果樹，去年夏天收了很多。"
# What each says lies in the values; `{name}` is a thing of the home.
Values = dict[str, Any]


@dataclass(frozen=True)
class World:
    """A home, where files for it lie, and the ids of what is in it."""

    home: Path
    files: Path
    ids: dict[str, str]

    def open(self) -> Session:
        """Open the home without a model."""
        return Session(self.home, model="none")


def do(session: Session, name: str, /, **values: Any) -> Any:
    """Do one operation in the scope me."""
    return invoke(session, name, values, scope="me")


def make_world(place: Path) -> World:
    """Make a home with a turn of each kind, records of each state, and files to be taken in."""
    files = place / "files"
    files.mkdir(parents=True)
    (files / "note.txt").write_text("園子裡的記錄：芒果、龍眼。", "utf-8")
    (files / "picture.bin").write_bytes(b"\x89PNG\x00\xff" * 50)
    line = '{"type":"capture","id":"in-1","text":"進口的一句話。"}\n'
    (files / "in.jsonl").write_text(line, "utf-8")
    weighty = (
        '{"type":"record","id":"heavy","kind":"fact","title":"重","gist":"重","salience":90}\n'
    )
    (files / "heavy.jsonl").write_text(weighty, "utf-8")
    world = World(place / "home", files, {})
    with Session(world.home, model="none", create=True) as session:
        world.ids.update(_fill(session, files))
    return world


def _fill(session: Session, files: Path) -> dict[str, str]:
    ids: dict[str, str] = {}
    one = do(session, "remember", text=SAID, session="s", topics=["園子"], aliases=["芒果園"])
    ids |= {"said": one.capture_id, "fact": one.record_id}
    for name, gist in (("old", "她住在台北。"), ("new", "她住在台南。"), ("side", "她住在高雄。")):
        ids[name] = do(session, "add-record", kind="fact", gist=gist, summary_only=True).record_id
    for name, title in (("ann", "安"), ("anna", "安娜"), ("gone", "阿安")):
        ids[name] = do(
            session, "add-record", kind="entity", title=title, attrs={"entity_type": "person"},
            summary_only=True,
        ).record_id  # fmt: skip
    do(session, "entity merge", old=ids["gone"], into=ids["anna"])
    quote = {"capture": ids["said"], "text": "三棵芒果樹"}
    do(session, "import", path=str(files / "heavy.jsonl"))
    ids["heavy"] = record_id_of("me", "heavy")
    ids["question"] = do(
        session, "add-record", kind="followup", gist="芒果樹後來怎麼樣了？", quotes=[quote],
        attrs={"question": "芒果樹後來怎麼樣了？", "context": SAID, "due": "2026-02-01"},
    ).record_id  # fmt: skip
    do(session, "preflight", text="記住：我怕打雷。", turn="open", tier="full")
    do(session, "preflight", text="記住：我喜歡雨。", turn="taken", tier="full")
    ids["taken"] = do(session, "capture", text="記住：我喜歡雨。", turn="taken").capture_id
    do(session, "preflight", text="記住：我討厭風。", turn="quoted", tier="full")
    ids["quoted"] = do(session, "capture", text="記住：我討厭風。", turn="quoted").capture_id
    quote = {"capture": ids["quoted"], "text": "我討厭風"}
    do(session, "add-record", kind="preference", gist="她討厭風。", quotes=[quote])
    picture = do(session, "capture-attachment", path=str(files / "picture.bin"), turn="taken")
    ids["picture"] = picture.attachment_id
    do(session, "contradict", record=ids["side"], other=ids["fact"], reason="地點不同")
    do(
        session, "feedback", target=ids["fact"], verdict="helpful",
        evidence={"capture": ids["said"], "text": "芒果樹"}, note="正好",
    )  # fmt: skip
    return ids


# One call of each operation that writes in a scope. Those without a key repeat the same.
CALLS: dict[str, Callable[[World], Values]] = {
    "remember": lambda _: {"text": "記住一句新的話。", "title": "新", "key": "k"},
    "preflight": lambda _: {"text": "今天天氣真好。", "turn": "fresh", "tier": "full", "key": "k"},
    "capture": lambda _: {"text": "記住：我怕打雷。", "turn": "open", "key": "k"},
    "capture-attachment": lambda w: {
        "path": str(w.files / "note.txt"), "turn": "open", "key": "k",
    },
    "finalize": lambda w: {"capture": w.ids["quoted"], "outcome": "derived", "key": "k"},
    "session-check": lambda _: {"turn": "quoted"},
    "ledger": lambda _: {"repair": True, "key": "k"},
    "import": lambda w: {"path": str(w.files / "in.jsonl")},
    "edit": lambda w: {"id": w.ids["fact"], "gist": "改過的話。", "reason": "改", "key": "k"},
    "archive": lambda w: {"id": w.ids["side"], "reason": "舊", "key": "k"},
    "add-record": lambda w: {
        "kind": "preference", "gist": "她喜歡雨。", "key": "k",
        "quotes": [{"capture": w.ids["taken"], "text": "喜歡雨"}],
    },
    "link": lambda w: {"src": w.ids["fact"], "rel": "about", "dst": w.ids["ann"], "key": "k"},
    "supersede": lambda w: {
        "old": w.ids["old"], "new": w.ids["new"], "reason": "搬家", "key": "k",
    },
    "contradict": lambda w: {
        "record": w.ids["side"], "other": w.ids["new"], "reason": "兩處", "key": "k",
    },
    "footprint": lambda w: {
        "text": "她去看了龍眼花。", "key": "k",
        "quotes": [{"capture": w.ids["said"], "text": "三棵芒果樹"}],
    },
    "feedback": lambda w: {
        "target": w.ids["new"], "verdict": "missed", "note": "缺一句", "key": "k",
        "evidence": {"capture": w.ids["said"], "text": "老家"},
    },
    "followup close": lambda w: {
        "id": w.ids["question"], "outcome": "answered", "note": "長得很好", "key": "k",
    },
    "entity merge": lambda w: {
        "old": w.ids["ann"], "into": w.ids["anna"], "reason": "同一人", "key": "k",
    },
    "entity split": lambda w: {"id": w.ids["gone"], "reason": "兩個人", "key": "k"},
    "salience review": lambda w: {
        "apply": True, "ids": [w.ids["heavy"]], "now": "2031-01-01", "key": "k",
    },
    "purge": lambda w: {
        "ids": [w.ids["said"], w.ids["picture"]], "with_records": True, "confirm": True,
    },
    "undo": lambda _: {"to": "6", "reason": "zurück", "key": "k"},
}  # fmt: skip

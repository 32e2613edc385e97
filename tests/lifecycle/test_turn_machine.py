"""The protocol as a machine: whatever is done in whatever order, some things always hold."""

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import shiyi
from shiyi.core.errors import ConflictError, UsageError
from shiyi.core.text import text_sha256
from shiyi.indexer.analyze import terms

SCOPES, TURNS = ("me", "other"), ("a", "b")
TEXTS = ("我女儿小禾很怕水。", "Explain B-trees.", "谢谢\r\n")
scopes, turns, texts = st.sampled_from(SCOPES), st.sampled_from(TURNS), st.sampled_from(TEXTS)
tiers = st.sampled_from(("auto", "full", "skip"))


@dataclass
class Turn:
    """What the model knows of a turn."""

    text: str
    required: bool
    message: str | None = None
    captures: dict[str, str] = field(default_factory=dict)  # text by id
    quoted: dict[str, set[str]] = field(default_factory=dict)  # records by the capture they quote
    closed: dict[str, str] = field(default_factory=dict)  # outcome by capture

    @property
    def is_open(self) -> bool:
        wanted = self.required and self.message is None
        return wanted or any(id_ not in self.closed for id_ in self.captures)


class Protocol(RuleBasedStateMachine):
    """Two scopes with turns of the same names, and a model of what is open in each."""

    blank: ClassVar[Path]

    @initialize()
    def open(self) -> None:
        self.home = Path(tempfile.mkdtemp()) / "home"
        shutil.copytree(self.blank, self.home)
        self.memory: Any = shiyi.open(self.home, model="none")
        self.turns: dict[tuple[str, str], Turn] = {}
        self.newest: dict[str, str] = {}
        self.keys: list[tuple[Any, dict[str, Any], Any]] = []
        self.files = 0
        self.touched = ("", "")  # the turn that a rule was about last
        self.preflight("me", "a", TEXTS[0], "full")

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            self.memory.close()
            shutil.rmtree(self.home.parent)

    def keyed(self, do: Any, **values: Any) -> Any:
        """Do a write under a new key, which a later rule repeats."""
        values["key"] = f"k{len(self.keys)}"
        answer = do(**values)
        self.keys.append((do, values, answer))
        return answer

    def at(self, scope: str, name: str) -> tuple[Any, Turn | None]:
        """Return a scope, and what is known of a turn in it."""
        self.touched = (scope, name)
        return self.memory.scope(scope), self.turns.get((scope, name))

    def known(self) -> list[tuple[str, str, str]]:
        return [(*name, id_) for name, turn in self.turns.items() for id_ in turn.captures]

    # What can be done

    @rule(scope=scopes, name=turns, text=texts, tier=tiers)
    def preflight(self, scope: str, name: str, text: str, tier: str) -> None:
        me, known = self.at(scope, name)
        if known is not None and known.text != text:
            with pytest.raises(ConflictError):
                me.preflight(text, turn=name, tier=tier)
            return
        receipt = self.keyed(me.preflight, text=text, turn=name, tier=tier)
        assert receipt.sha256 == text_sha256(text)
        if known is None:
            self.turns[scope, name] = Turn(text, receipt.required)
            self.newest[scope] = name
            assert receipt.required or tier != "full"
            return
        assert receipt.required or not (known.required or tier == "full")
        if receipt.required and not known.required:
            self.newest[scope] = name
        known.required = receipt.required

    @rule(scope=scopes, name=turns, text=texts)
    def capture(self, scope: str, name: str, text: str) -> None:
        me, known = self.at(scope, name)
        if known is None or known.text != text:
            with pytest.raises(UsageError):
                me.capture(text, turn=name)
            return
        kept = self.keyed(me.capture, text=text, turn=name)
        assert kept.new == (known.message is None)
        assert known.message in {None, kept.capture_id}
        known.message = kept.capture_id
        known.captures[kept.capture_id] = text

    # Most random steps miss the turns that are there; these two never do.

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), tier=tiers)
    def judge_again(self, data: st.DataObject, tier: str) -> None:
        scope, name = data.draw(st.sampled_from(sorted(self.turns)))
        self.preflight(scope, name, self.turns[scope, name].text, tier)

    @precondition(lambda self: self.turns)
    @rule(data=st.data())
    def capture_judged(self, data: st.DataObject) -> None:
        scope, name = data.draw(st.sampled_from(sorted(self.turns)))
        for _ in range(2):  # again, it is the first
            self.capture(scope, name, self.turns[scope, name].text)

    @rule(scope=scopes, name=turns, text=texts)
    def attach(self, scope: str, name: str, text: str) -> None:
        me, known = self.at(scope, name)
        self.files += 1
        path = self.home.parent / f"{self.files}.txt"
        path.write_bytes(text.encode())
        if known is None:
            with pytest.raises(UsageError):
                me.capture_attachment(path, turn=name)
            return
        kept = self.keyed(me.capture_attachment, path=path, turn=name)
        known.captures[kept.capture_id] = text

    @precondition(lambda self: self.known())
    @rule(data=st.data())
    def derive(self, data: st.DataObject) -> None:
        scope, name, id_ = data.draw(st.sampled_from(self.known()))
        me, known = self.at(scope, name)
        assert known is not None
        quote: dict[str, Any] = {"capture": id_, "start": 0, "end": data.draw(st.integers(0, 12))}
        if not 0 < quote["end"] <= len(known.captures[id_]):
            with pytest.raises(UsageError):
                me.add_record(kind="fact", gist="g", quotes=[quote])
            return
        made = self.keyed(me.add_record, kind="fact", gist="g", quotes=[quote])
        assert (made.turn_id, made.fidelity) == (name, "sourced")
        known.quoted.setdefault(id_, set()).add(made.record_id)

    @precondition(lambda self: self.known())
    @rule(data=st.data())
    def close_as_derived(self, data: st.DataObject) -> None:
        scope, name, id_ = data.draw(st.sampled_from(self.known()))
        me, known = self.at(scope, name)
        assert known is not None
        if not known.quoted.get(id_):
            with pytest.raises((UsageError, ConflictError)):
                me.finalize(id_, "derived")
            return
        done = self.keyed(me.finalize, capture=id_, outcome="derived")
        assert done.repeated == (known.closed.get(id_) == "derived")
        assert set(done.records) <= known.quoted[id_]
        assert done.records
        known.closed[id_] = "derived"

    @precondition(lambda self: self.known())
    @rule(data=st.data(), about=st.booleans())
    def close_as_known(self, data: st.DataObject, about: bool) -> None:
        scope, name, id_ = data.draw(st.sampled_from(self.known()))
        me, known = self.at(scope, name)
        assert known is not None
        said = set(terms(known.captures[id_]))
        asked = me.search(known.captures[id_] if about and said else "量子色动力学", limit=1)
        named = [hit.id for hit in asked.hits if hit.type == "record"]
        given: dict[str, Any] = {
            "capture": id_, "outcome": "no_derivation_needed", "reason": "known",
            "trace": asked.trace, "records": named,
        }  # fmt: skip
        if id_ in known.closed:
            with pytest.raises(ConflictError):
                me.finalize(**given)
            return
        if said and not about:
            with pytest.raises(UsageError):
                me.finalize(**given)
            return
        self.keyed(me.finalize, **given)
        known.closed[id_] = "no_derivation_needed"

    @rule(scope=scopes)
    def repair(self, scope: str) -> None:
        me = self.memory.scope(scope)
        expected = {
            id_
            for (of, _), turn in self.turns.items() if of == scope
            for id_ in turn.captures if turn.quoted.get(id_) and id_ not in turn.closed
        }  # fmt: skip
        if scope not in self.newest:
            return
        assert set(self.keyed(me.ledger, repair=True).repaired) == expected
        for (of, _), turn in self.turns.items():
            if of == scope:
                turn.closed |= dict.fromkeys(expected & set(turn.captures), "derived")

    @precondition(lambda self: self.keys)
    @rule(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        do, values, first = data.draw(st.sampled_from(self.keys))
        again = do(**values)
        if hasattr(first, "repaired"):
            assert (again.repaired, again.left) == (first.repaired, first.left)
        else:
            assert again == first

    @rule(scope=scopes, name=turns)
    def read(self, scope: str, name: str) -> None:
        me, known = self.at(scope, name)
        if known is not None and not (known.required and known.message is None):
            me.search("小禾", turn=name)
            return
        with pytest.raises(UsageError):
            me.search("小禾", turn=name)
        if scope in self.newest:
            assert me.search("小禾", turn=name, maintenance=True).trace

    @rule()
    def reopen(self) -> None:
        """What is kept is on the disk."""
        self.memory.close()
        self.memory = shiyi.open(self.home, model="none")
        self.keys = [
            (getattr(self.memory.scope(do.__self__.name), do.__name__), values, answer)
            for do, values, answer in self.keys
        ]

    # What always holds

    @invariant()
    def captures_never_change(self) -> None:
        store = self.memory._caller.session.store
        for scope in SCOPES:
            kept = {c.capture_id: (c.text, c.utf8_sha256) for c in store.iterate_captures(scope)}
            assert kept == {
                id_: (text, text_sha256(text))
                for (of, _), turn in self.turns.items() if of == scope
                for id_, text in turn.captures.items()
            }  # fmt: skip

    @invariant()
    def the_check_fails_when_something_is_open(self) -> None:
        """Of the turn that was touched last, named and, where it is the newest, not named."""
        if self.touched not in self.turns:
            return
        scope, name = self.touched
        newest = self.newest[scope] == name
        answer = self.memory.scope(scope).session_check(None if newest else name)
        assert answer.turn_id == name
        assert (answer.verdict == "fail") == self.turns[self.touched].is_open

    @invariant()
    def what_is_pending_is_what_is_open(self) -> None:
        for scope in SCOPES:
            pending = {one.turn_id for one in self.memory.scope(scope).pending().open}
            assert pending == {
                name for (of, name), turn in self.turns.items() if of == scope and turn.is_open
            }

    @invariant()
    def what_is_followed_is_what_the_ledger_says(self) -> None:
        store = self.memory._caller.session.store
        for scope in SCOPES:
            assert store.open_turns.captures(scope) == store.turns.open_captures(scope)
            assert store.open_turns.receipts(scope) == store.turns.open_receipts(scope)

    @invariant()
    def tiers_never_fall_and_versions_stay(self) -> None:
        turns = self.memory._caller.session.store.turns
        for scope, name in self.turns:
            tiers = [receipt.tier for receipt in turns.receipts(scope, name)]
            assert tiers in (["full"], ["skip"], ["skip", "full"])


@pytest.fixture(scope="module", autouse=True)
def _blank(tmp_path_factory: pytest.TempPathFactory) -> None:
    Protocol.blank = tmp_path_factory.mktemp("blank") / "home"
    shiyi.open(Protocol.blank, model="none").close()


@pytest.mark.parametrize(
    ("examples", "steps"), [(5, 16), pytest.param(100, 30, marks=pytest.mark.slow)]
)
def test_the_protocol_holds(examples: int, steps: int) -> None:
    """Every rule in any order leaves every invariant."""
    run_state_machine_as_test(
        Protocol,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip

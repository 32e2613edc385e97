"""Purge: not a byte of it stays under the home, it never comes back, and it can be repeated."""

import gc
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shiyi.core.errors import NotFoundError
from shiyi.core.text import text_sha256
from shiyi.indexer.embeddings import KEYS, passage_key
from shiyi.lifecycle.attach import capture_attachment
from shiyi.lifecycle.backup import back_up
from shiyi.lifecycle.backups import PARTIAL
from shiyi.lifecycle.correct import contradict, supersede
from shiyi.lifecycle.edit import edit
from shiyi.lifecycle.exporting import export_scope
from shiyi.lifecycle.feedback import add_feedback
from shiyi.lifecycle.importing import import_path
from shiyi.lifecycle.names import capture_id_of, record_id_of
from shiyi.lifecycle.purge import Plan, Purge, plan_purge, purge
from shiyi.lifecycle.readers.items import Quote
from shiyi.lifecycle.remember import remember
from shiyi.lifecycle.snapshots import MANIFEST
from shiyi.lifecycle.turn import capture, preflight
from shiyi.lifecycle.undo import undo
from shiyi.lifecycle.validate import PENDING, validate, verdict
from shiyi.lifecycle.write import Words
from shiyi.models.encoder import Encoder
from shiyi.store import Entry, Store, Transaction
from shiyi.store.traces import Traces, new_trace_id
from tests.conftest import NOW, Memory
from tests.lifecycle.test_backup import attach, dumped

MARKER = "ZEBRAQUARTZ"
_LINE = 48  # bytes that tell of one vector


@pytest.fixture(name="memory")
def memory_fixture(make_memory: Callable[..., Memory], hashing: Callable[[], Encoder]) -> Memory:
    """An empty memory with the encoder for tests."""
    return make_memory(hashing)


def holding(home: Path, marker: str = MARKER) -> list[str]:
    """Return the files under the home that hold the marker, or have it in their name."""
    return [
        str(path.relative_to(home))
        for path in home.rglob("*")
        if marker in path.name or (path.is_file() and marker.encode() in path.read_bytes())
    ]


def do_purge(memory: Memory, ids: list[str], **how: Any) -> Purge:
    """Purge as the service does: with the indexes closed."""
    memory.reopen()
    store = memory.store
    with Traces(store.home, days=30, most=100) as traces:
        plan = plan_purge(store, "me", ids, **how)
        return purge(store, "me", plan, traces, store.home / "backups")


def add_step(store: Store, step: Entry) -> None:
    def act(transaction: Transaction) -> dict[str, Any]:
        transaction.add_steps(str(step.turn_id), [step])
        return {}

    store.write("me", act)


def marked(memory: Memory) -> list[str]:
    """Keep the marker wherever it can stand, have it indexed, traced, linked and backed up."""
    store = memory.store
    said = memory.say(f"她說 {MARKER}。", title=f"T {MARKER}", topics=[MARKER], session="s")
    noted = remember(
        store, "me", Words(text="plain words"),
        {"gist": f"gist {MARKER}", "aliases": [MARKER], "attrs": {"x": {"y": [MARKER]}},
         "phase": MARKER, "detail": f"d {MARKER}"}, key=f"key of {MARKER}",
    )  # fmt: skip
    memory.edit(noted["record_id"], gist="another gist")
    memory.say("the turn after it", session="s")
    attach(store, MARKER.encode(), f"{MARKER}.png")
    file = store._database.rows("SELECT attachment_id FROM attachments")[0][0]
    memory.indexes.reindex("me")
    memory.search(MARKER)
    store.checkpoint()
    with Traces(store.home, days=30, most=100) as traces:
        traces.keep("me", {"id": new_trace_id(), "query": MARKER})
    back_up(store)
    return [said["capture_id"], said["record_id"], noted["record_id"], noted["capture_id"], file]


def test_not_a_byte_stays(memory: Memory) -> None:
    """Body, title, topic, alias, attrs, phase, old versions, keys, names and files: all gone."""
    kept = memory.say("這一句留著。", session="s")
    ids = marked(memory)
    store = memory.store
    assert {name.split("/")[0] for name in holding(store.home)} >= {
        "attachments", "backups", "index", "shiyi.duckdb", "traces",
    }  # fmt: skip

    done = do_purge(memory, ids)

    assert holding(store.home) == []
    assert done.vectors >= 4, "its own, and that of the turn after it"
    assert len(done.backups) == 1
    assert store.note(PENDING) is None
    assert verdict(validate(store)) == "clean"
    assert store.capture("me", kept["capture_id"]) is not None
    memory.reopen()
    assert [hit.id for hit in memory.search("這一句").hits]
    assert not any(hit.why.terms for hit in memory.search(MARKER).hits)
    assert len(list((store.home / "backups").iterdir())) == 1, "a fresh one stands in its place"
    assert any("file system" in sentence for sentence in done.left)


def test_links_keep_their_place_in_time(memory: Memory) -> None:
    """A link that goes takes its change with it, so the others are as old as they were."""
    one, two = memory.say("甲甲甲"), memory.say("乙乙乙")
    memory.quote(one["record_id"], two["capture_id"], 0, 1)
    moment = memory.store.last_seq
    memory.quote(one["record_id"], two["capture_id"], 1, 2)

    do_purge(memory, [one["capture_id"]])

    undo(memory.store, "me", moment)
    left = memory.store.links_from("me", [one["record_id"]])[one["record_id"]]
    assert [(link.dst, link.span_start) for link in left] == [(two["capture_id"], 0)]


def test_an_old_version_and_a_correction_that_repeat_it_are_named(memory: Memory) -> None:
    """What stays and still holds the words is named, in whichever version or reason it does."""
    store = memory.store
    said = memory.say(f"她的秘密花園在 {MARKER}。")
    memory.edit(said["record_id"], gist="她喜歡花。", title="花")
    old, new = memory.record("old", "她住在台北。"), memory.record("new", f"她搬去 {MARKER}")
    supersede(store, "me", old, new, reason=f"she moved to {MARKER}")

    plan = plan_purge(store, "me", [said["capture_id"]])
    assert set(plan.repeating) == {said["record_id"], old}, (
        "the one in a version, and by its reason"
    )
    plan = plan_purge(store, "me", [new])
    assert (plan.quoting, plan.repeating) == ((), (old,))
    do_purge(memory, [said["capture_id"], new, *plan.repeating, said["record_id"]])

    assert holding(store.home) == []


def test_reasons_that_speak_of_it_go(memory: Memory) -> None:
    """A reason in the ledger of other words, one on a link, its turn's name, and its hash."""
    store = memory.store
    secret = memory.record("secret", f"在 {MARKER}。")
    turn = f"turn of {MARKER}"
    said = memory.say(f"{MARKER}！", words_only=True, turn=turn)
    other = memory.say("還是一樣。", words_only=True, turn="b")
    one, two = memory.record("one", "她住台北"), memory.record("two", "她住高雄")
    contradict(
        store, "me", one, two, reason=f"as said of {MARKER}",
        source=Quote(said["capture_id"], None, 0, 2),
    )  # fmt: skip
    preflight(store, "me", f"{MARKER}！", turn, key=f"key of {MARKER}")
    step = Entry(
        scope="me", step="finalize", outcome="no_derivation_needed", turn_id="b",
        capture_id=other["capture_id"], records=(secret,), reason=f"{MARKER} is known",
        created_at=NOW,
    )  # fmt: skip

    add_step(store, step)
    do_purge(memory, [secret, said["capture_id"]])

    rows = [row for many in dumped(store).values() for row in many]
    assert holding(store.home) == []
    assert not any(text_sha256(f"{MARKER}！").encode() in row for row in rows)
    assert store.links_from("me", [one])[one][0].attrs == {}
    assert verdict(validate(store)) == "clean"


def test_reasons_and_notes_that_tell_of_it_without_its_id_go(memory: Memory) -> None:
    """Of other turns, links and feedback; what shares only common words stays as it is."""
    store = memory.store
    said = memory.say(f"I have been to the hospital with {MARKER} 去看醫生了", words_only=True)
    name = memory.say("王小明", words_only=True)
    one, two = memory.record("one", "她住台北"), memory.record("two", "她住高雄")
    kept = ("I have been to the shop", "去看了", "小明")
    for turn, reason in enumerate((f"about {MARKER}", "王小明 is known", *kept)):
        preflight(store, "me", "還是一樣。", f"t{turn}", tier="full")
        capture_id = capture(store, "me", Words(text="還是一樣。", turn=f"t{turn}"))["capture_id"]
        trace = memory.record(f"known{turn}", "還是一樣")
        step = Entry(
            scope="me", step="finalize", outcome="no_derivation_needed", turn_id=f"t{turn}",
            capture_id=capture_id, records=(trace,), reason=reason, created_at=NOW,
        )  # fmt: skip
        add_step(store, step)
    contradict(store, "me", one, two, reason="去看醫生了，和醫院說的不同 with the hospital")
    supersede(store, "me", one, two, reason=f"since {MARKER}")
    evidence = memory.say(f"不對，{MARKER} 不是這樣", words_only=True)["capture_id"]
    for note in (f"not {MARKER}", "去看了"):
        quote = Quote(evidence, None, 0, 2)
        add_feedback(store, "me", two, "corrected", quote, note=note)

    plan = plan_purge(store, "me", [said["capture_id"], name["capture_id"]])
    assert set(plan.repeating) == {one, evidence}
    done = do_purge(memory, [said["capture_id"], name["capture_id"]])

    gone = "What this spoke of was purged."
    steps = [store.turns.of_turn("me", f"t{turn}")[-1].reason for turn in range(5)]
    assert steps == [gone, gone, *kept]
    assert [fb.note for fb in store.feedback("me")] == [gone, "去看了"]
    assert all(not link.attrs for link in store.links_from("me", [one])[one])
    assert any(evidence in sentence and one in sentence for sentence in done.left)
    do_purge(memory, list(plan.repeating))
    assert holding(store.home) == []
    assert verdict(validate(store)) == "clean"


def remembered(marker: str) -> list[str]:
    """Return what of this process's caches of words holds the marker."""
    caches = [one for one in gc.get_objects() if type(one).__name__ == "_lru_cache_wrapper"]
    held = [entry for one in caches for entry in gc.get_referents(one) if isinstance(entry, dict)]
    return [key for entry in held for key in map(repr, entry) if marker.lower() in key.lower()]


def test_no_cache_of_words_remembers_it(memory: Memory) -> None:
    """What was analysed and folded on the way is forgotten with it."""
    said = memory.say(f"她說 {MARKER}。")
    memory.search(f"{MARKER} 呢")
    assert remembered(MARKER)

    do_purge(memory, [said["capture_id"]], with_records=True)

    assert remembered(MARKER) == []


def test_what_belongs_to_it_and_stays_is_named(memory: Memory, tmp_path: Path) -> None:
    """A transcription beside its attachment, a text beside its file, the same bytes elsewhere."""
    store = memory.store
    (tmp_path / "a.bin").write_bytes(b"\xff\x00" * 9)
    (tmp_path / "a.txt").write_text(MARKER)
    for turn in ("t", "u"):
        preflight(store, "me", "甲", turn, tier="full")
    kept = {
        name: capture_attachment(store, "me", str(tmp_path / name), "t", most_megabytes=1)
        for name in ("a.bin", "a.txt")
    }
    twin = capture_attachment(store, "me", str(tmp_path / "a.bin"), "u", most_megabytes=1)
    spoken = capture(
        store, "me", Words(text=f"{MARKER} read aloud", turn="t"), fidelity="transcription",
        of=kept["a.bin"]["attachment_id"],
    )["capture_id"]  # fmt: skip

    assert plan_purge(store, "me", [kept["a.bin"]["attachment_id"]]).beside == (spoken,)
    text = plan_purge(store, "me", [kept["a.txt"]["capture_id"]])
    assert text.beside == (kept["a.txt"]["attachment_id"],)
    done = do_purge(memory, [kept["a.bin"]["attachment_id"]])
    assert any(spoken in sentence for sentence in done.left)
    assert any(f"{twin['attachment_id']} in me" in sentence for sentence in done.left)
    assert [one.step for one in store.turns.of_capture("me", spoken)] == ["capture"]

    do_purge(memory, [spoken, kept["a.txt"]["capture_id"], *text.beside])
    assert holding(store.home) == []


def test_what_quotes_it_stays_and_is_marked(memory: Memory) -> None:
    """A record keeps its own words, loses the quote, and a person is told that it repeats it."""
    said = memory.say(f"她的秘密花園在 {MARKER}。")
    other = memory.record("r", "她喜歡花。")
    memory.quote(other, said["capture_id"], 0, 2)

    plan = plan_purge(memory.store, "me", [said["capture_id"]])
    assert set(plan.quoting) == {said["record_id"], other}
    assert plan.repeating == (said["record_id"],)
    done = do_purge(memory, [said["capture_id"]])

    head = memory.store.versions("me", other)[-1]
    assert head.version == 2
    assert said["capture_id"] in str(head.reason)
    assert memory.store.links_from("me", [other]) == {}
    assert holding(memory.store.home) == ["shiyi.duckdb"]
    assert said["record_id"] in done.left[0]

    do_purge(memory, [said["record_id"]])
    assert holding(memory.store.home) == []


def test_with_records_takes_them_too(memory: Memory) -> None:
    said = memory.say(f"只有 {MARKER}")

    done = do_purge(memory, [said["capture_id"]], with_records=True)

    assert done.plan.doomed.records == (said["record_id"],)
    assert holding(memory.store.home) == []


def test_bytes_that_another_attachment_has_stay(memory: Memory) -> None:
    """Two attachments share their bytes; they go with the last one."""
    store = memory.store
    sha256 = attach(store, MARKER.encode())
    store._database.rows(
        "INSERT INTO attachments SELECT * REPLACE ('B' AS attachment_id) FROM attachments"
    )
    memory.say("甲")
    first = store._database.rows("SELECT attachment_id FROM attachments ORDER BY ALL")[0][0]

    assert do_purge(memory, [first]).files == 0
    assert (store.home / "attachments" / sha256[:2] / sha256).exists()
    assert do_purge(memory, ["B"]).files == 1
    assert holding(store.home) == []


def test_it_never_comes_back_by_import(memory: Memory, tmp_path: Path) -> None:
    """An export and a source from before add nothing that was purged, and say how much."""
    store = memory.store
    lines = (
        f'{{"type":"capture","id":"a","text":"{MARKER}"}}\n'
        '{"type":"capture","id":"b","text":"甲"}\n'
        f'{{"type":"record","id":"r","kind":"fact","title":"{MARKER}","gist":"{MARKER}",'
        '"quotes":[{"capture":"a"}]}\n'
        '{"type":"record","id":"q","kind":"fact","title":"q","gist":"q",'
        '"quotes":[{"capture":"a"},{"capture":"b"}]}\n'
        '{"type":"link","src":"q","rel":"about","dst":"r"}\n'
    )
    source = tmp_path / "in.jsonl"
    source.write_text(lines, "utf-8")
    assert import_path(store, "me", source).failed == 0
    export_scope(store, "me", tmp_path / "out", "jsonl")
    ids = [capture_id_of("me", "a"), record_id_of("me", "r")]
    do_purge(memory, ids)
    counts = store.counts("me")

    for path in (source, tmp_path / "out"):
        report = import_path(store, "me", path)
        assert report.failed == 0, report.errors
        assert report.skipped["was purged, and stays away"] == 3
        assert report.skipped["a quote of words that were purged"] == 1
    assert store.counts("me") == counts
    assert holding(store.home) == []


def test_what_is_out_of_reach_is_named(memory: Memory, tmp_path: Path) -> None:
    """Backups elsewhere by their path, the same words elsewhere, and the words behind a record."""
    said, twin = memory.say(MARKER), memory.say(MARKER, scope="other")
    back_up(memory.store, tmp_path / "stick")

    done = do_purge(memory, [said["record_id"]])
    assert any(said["capture_id"] in sentence for sentence in done.left)
    done = do_purge(memory, [said["capture_id"]])

    assert any(str(tmp_path / "stick") in sentence for sentence in done.left)
    assert any(f"{twin['capture_id']} in other" in sentence for sentence in done.left)


def test_an_unknown_id_is_refused_and_a_purged_one_is_known(memory: Memory) -> None:
    said = memory.say("甲")
    with pytest.raises(NotFoundError):
        plan_purge(memory.store, "me", ["nothing"])
    do_purge(memory, [said["capture_id"]], with_records=True)

    again = plan_purge(memory.store, "me", [said["capture_id"]])

    assert again.gone == (said["capture_id"],)
    assert again.doomed.ids == []


def test_no_vector_of_what_went_stays(memory: Memory) -> None:
    """Also not of a turn that was embedded before the turn that it follows was known."""
    later = memory.capture("b", f"第二句：{MARKER}。", previous="a")
    memory.search(MARKER)
    first = memory.capture("a", "第一句，你最近怎麼樣？")
    memory.search(MARKER)
    rows = {passage_key(text) for text in ("第一句，你最近怎么样？", f"第二句：{MARKER}。")}
    kept = next(memory.home.glob("vectors/*")) / KEYS
    assert all(row in kept.read_bytes() for row in rows)

    do_purge(memory, [later])

    content = kept.read_bytes()
    assert [row in content for row in rows].count(True) == 1
    assert len(content) == _LINE
    assert memory.store.capture("me", first) is not None


@pytest.mark.parametrize("step", ["rmtree", "forget", "vectors", "bytes", "backup", "rebuild"])
def test_interrupted_anywhere_it_is_ended_by_a_repeat(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """After an interruption validate says so; purging again leaves nothing."""
    ids = marked(memory)
    places = {
        "rmtree": "shiyi.lifecycle.purge.shutil.rmtree",
        "forget": "shiyi.store.traces.Traces.forget",
        "vectors": "shiyi.lifecycle.purge.forget_passages",
        "bytes": "shiyi.lifecycle.purge._remove_bytes",
        "backup": "shiyi.lifecycle.purge.remove",
        "rebuild": "shiyi.store.database.Database._copy_into",
    }

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(places[step], interrupt)
        with pytest.raises(KeyboardInterrupt):
            do_purge(memory, ids)
    assert verdict(validate(memory.store)) == "failed"
    memory.indexes.close()
    memory.store.close()
    memory.store = Store(memory.home)

    do_purge(memory, [])

    assert holding(memory.home) == []
    assert verdict(validate(memory.store)) == "clean"
    memory.store.close()


def test_a_backup_that_is_half_removed_goes_all_the_same(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether its removal is interrupted now, or was in a version that began with the manifest."""
    ids = marked(memory)
    kept = next((memory.home / "backups").iterdir())
    shutil.copytree(kept, kept.with_name(f"{kept.name}-2"))
    (kept.with_name(f"{kept.name}-2") / MANIFEST).unlink()
    real = shutil.rmtree

    def interrupt(path: Path, **how: Any) -> None:
        real(path, **how)
        if path.name.endswith(PARTIAL) and kept.name in path.name:
            path.mkdir()
            (path / "left").write_text(MARKER, "utf-8")
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", interrupt)
        with pytest.raises(KeyboardInterrupt):
            do_purge(memory, ids)
    assert holding(memory.home)

    do_purge(memory, [])

    assert holding(memory.home) == []
    assert verdict(validate(memory.store)) == "clean"


def test_a_backup_that_nobody_can_read_is_named(memory: Memory) -> None:
    """It may hold what goes, and it may be another home's: a person decides."""
    said = memory.say(f"她說 {MARKER}。")
    back_up(memory.store)
    kept = next((memory.home / "backups").iterdir())
    (kept / MANIFEST).write_text("torn", "utf-8")

    done = do_purge(memory, [said["capture_id"]], with_records=True)

    assert any(str(kept) in sentence for sentence in done.left)


def test_the_rebuilt_file_is_the_same_home(memory: Memory, tmp_path: Path) -> None:
    """Rows, keys, indexes and limits are as they were; so is what can be written next."""
    store = memory.store
    one = memory.say("甲甲")
    two = memory.say("乙乙")
    edit(store, "me", two["record_id"], {"gist": "丙"}, key="k")
    catalogue = (
        "SELECT index_name, sql FROM duckdb_indexes() ORDER BY ALL",
        "SELECT table_name, constraint_text FROM duckdb_constraints() ORDER BY ALL",
        "SELECT table_name, sql FROM duckdb_tables() ORDER BY ALL",
        "SELECT value FROM duckdb_settings() WHERE name = 'lock_configuration'",
    )
    before, rows = [store._database.rows(query) for query in catalogue], dumped(store)

    do_purge(memory, [one["capture_id"]], with_records=True)

    assert [store._database.rows(query) for query in catalogue] == before
    after = dumped(store)
    assert after["captures"] == rows["captures"][1:]
    assert after["records"] == rows["records"][1:]
    assert after["idempotency"] == rows["idempotency"]
    assert store.home_id in after["meta"][1].decode() + after["meta"][0].decode() + str(
        after["meta"]
    )
    store.close()
    with Store(memory.home) as again:
        assert dumped(again) == after


KILLED = """
import sys
from pathlib import Path
from shiyi.lifecycle.names import capture_id_of, record_id_of
from shiyi.lifecycle.purge import plan_purge, purge
from shiyi.store import Entry, Store, Transaction
from shiyi.store.traces import Traces

home = Path(sys.argv[1])
with Store(home) as store, Traces(home, days=30, most=100) as traces:
    print("ready", flush=True)
    ids = [id_ for id_ in sys.argv[2:] if id_ not in store.purged.among("me", sys.argv[2:])]
    purge(store, "me", plan_purge(store, "me", ids), traces, home / "backups")
    print("done", flush=True)
"""


@pytest.mark.slow
def test_killed_anywhere_it_is_ended_by_a_repeat(memory: Memory, tmp_path: Path) -> None:
    """30 kills at random times: never a damaged home, and a repeat leaves nothing."""
    ids = marked(memory)
    memory.close()
    for round_ in range(30):
        home = tmp_path / f"killed{round_}"
        shutil.copytree(memory.home, home)
        command = [sys.executable, "-c", KILLED, str(home), *ids]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(round_ * 0.01)
            process.kill()
        assert subprocess.check_output(command, text=True).endswith("done\n")
        assert holding(home) == []
        with Store(home) as store:
            assert verdict(validate(store)) == "clean"


def test_a_plan_says_and_does_nothing(memory: Memory) -> None:
    """Without a confirmation nothing is changed."""
    said = memory.say(MARKER)
    before = memory.store.last_seq

    plan = plan_purge(memory.store, "me", [said["capture_id"]], with_records=True)

    assert isinstance(plan, Plan)
    assert plan.doomed.captures == (said["capture_id"],)
    assert memory.store.last_seq == before

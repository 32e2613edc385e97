"""Attachments: kept whole under their hash or not at all, once, and found by their words."""

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import shiyi
from shiyi.core.errors import HomeUnwritableError, NotFoundError, UsageError

MEGABYTE = 1 << 20
NOTE = "小禾的游泳课表：周三下午。\r\n"


@pytest.fixture
def turn(me: Any) -> str:
    me.preflight("我把课表发给你。", turn="a")
    return "a"


@pytest.fixture
def home(tmp_path: Path, memory: Any) -> Path:
    del memory
    return tmp_path / "home"


def stored(home: Path) -> list[Path]:
    """Return every file below the attachments, hidden ones too."""
    return sorted(path for path in (home / "attachments").rglob("*") if path.is_file())


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\0", NOTE.encode(), b"\xef\xbb\xbfbom"])
def test_bytes_are_kept_as_they_are(
    me: Any, turn: str, home: Path, tmp_path: Path, content: bytes
) -> None:
    """They lie under their SHA-256, for their owner only."""
    (tmp_path / "a.dat").write_bytes(content)

    kept = me.capture_attachment(tmp_path / "a.dat", turn=turn)

    digest = hashlib.sha256(content).hexdigest()
    path = home / "attachments" / digest[:2] / digest
    assert (kept.sha256, kept.bytes, kept.name) == (digest, len(content), "a.dat")
    assert stored(home) == [path]
    assert path.read_bytes() == content
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert me.show(kept.attachment_id).attachment.whole


def test_a_text_is_found_by_its_words(me: Any, turn: str, tmp_path: Path) -> None:
    """A text is a capture of exact words, open until it is closed as any other."""
    (tmp_path / "课表.txt").write_bytes(NOTE.encode())

    kept = me.capture_attachment(str(tmp_path / "课表.txt"), turn=turn)

    capture = me.show(kept.capture_id).capture
    assert capture.text == NOTE
    assert (capture.fidelity, capture.origin) == ("exact_attachment", "attachment")
    assert capture.attrs == {"attachment": kept.attachment_id}
    assert capture.utf8_sha256 == kept.sha256
    assert me.show(kept.attachment_id).attachment.captures == [kept.capture_id]
    assert me.search("游泳课表").hits[0].id == kept.capture_id
    assert kept.capture_id in {one.id for one in me.session_check(turn).open}


def test_what_is_read_from_a_picture_is_a_capture_of_its_own(
    me: Any, turn: str, tmp_path: Path
) -> None:
    """A transcription or ocr need not be what was judged, but it is of an attachment."""
    (tmp_path / "a.png").write_bytes(b"\x89PNG\xff")
    kept = me.capture_attachment(tmp_path / "a.png", turn=turn)
    assert (kept.capture_id, kept.media_type) == (None, "image/png")
    assert [one.problem for one in me.session_check(turn).warnings] == ["no_text"]

    read = me.capture("课表", turn=turn, fidelity="ocr", of=kept.attachment_id)
    heard = me.capture("课表", turn=turn, fidelity="transcription", of=kept.attachment_id)
    again = me.capture("课表", turn=turn, fidelity="ocr", of=kept.attachment_id)

    assert (again.capture_id, again.new) == (read.capture_id, False)
    assert heard.capture_id != read.capture_id
    assert me.show(read.capture_id).capture.fidelity == "ocr"
    shown = me.show(kept.attachment_id).attachment
    assert shown.captures == [read.capture_id, heard.capture_id]
    assert {one.problem for one in me.session_check(turn).open} == {"not_captured", "not_finalized"}
    assert me.session_check(turn).warnings == []
    with pytest.raises(UsageError, match="neither"):
        me.capture("课表", turn=turn, fidelity="ocr")
    with pytest.raises(UsageError, match="neither"):
        me.capture("课表", turn=turn, of=kept.attachment_id)
    with pytest.raises(NotFoundError, match="no attachment"):
        me.capture("课表", turn=turn, fidelity="ocr", of=read.capture_id)


def test_a_transcription_does_not_stand_for_the_words(me: Any, turn: str, tmp_path: Path) -> None:
    """A text of an attachment that is what was said is still not what was said."""
    (tmp_path / "a.txt").write_text("我把课表发给你。", "utf-8")
    me.capture_attachment(tmp_path / "a.txt", turn=turn)

    assert "not_captured" in {one.problem for one in me.session_check(turn).open}
    with pytest.raises(UsageError, match="not captured yet"):
        me.search("课表", turn=turn)


def test_duplicates_share_their_bytes_and_are_registered(
    me: Any, memory: Any, turn: str, home: Path, tmp_path: Path
) -> None:
    """Each turn and each scope that gives the same bytes has a row; the file lies there once."""
    for name in ("a.bin", "b.bin"):
        (tmp_path / name).write_bytes(b"\xff" * 10)
    memory.scope("other").preflight("我也发。", turn="a")
    me.preflight("我再发一次。", turn="b")

    first = me.capture_attachment(tmp_path / "a.bin", turn=turn)
    again = me.capture_attachment(tmp_path / "a.bin", turn=turn, key="k")
    renamed = me.capture_attachment(tmp_path / "b.bin", turn=turn)
    later = me.capture_attachment(tmp_path / "a.bin", turn="b")
    other = memory.scope("other").capture_attachment(tmp_path / "a.bin", turn="a")

    assert (again.attachment_id, again.new) == (first.attachment_id, False)
    assert me.capture_attachment(tmp_path / "a.bin", turn=turn, key="k") == again
    assert len({one.attachment_id for one in (first, renamed, later, other)}) == 4
    assert len(stored(home)) == 1
    with pytest.raises(NotFoundError):
        memory.scope("other").show(first.attachment_id)


def test_what_is_no_regular_file_is_refused(me: Any, turn: str, home: Path, tmp_path: Path) -> None:
    """A link, a pipe without a writer, a device, a folder and nothing: one sentence, at once."""
    (tmp_path / "a.txt").write_text("甲", "utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "a.txt")
    os.mkfifo(tmp_path / "pipe")

    for path, said in (
        (tmp_path / "link", "is a link"), (tmp_path / "pipe", "no regular file"),
        (Path("/dev/zero"), "no regular file"), (tmp_path, "no regular file"),
        (tmp_path / "nothing", "No such file"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=said):
            me.capture_attachment(path, turn=turn)
    with pytest.raises(UsageError, match="run `shiyi preflight`"):
        me.capture_attachment(tmp_path / "a.txt", turn="unknown")

    assert stored(home) == []
    assert me.ledger(turn=turn).entries == []


def test_a_secret_in_a_text_is_refused(me: Any, turn: str, home: Path, tmp_path: Path) -> None:
    """What a message may not hold, a file may not either, unless a person says so."""
    (tmp_path / "a.env").write_text("password: hunter2-Xq9!vLpZ77", "utf-8")

    with pytest.raises(UsageError, match="secret"):
        me.capture_attachment(tmp_path / "a.env", turn=turn)
    assert stored(home) == []
    assert me.capture_attachment(tmp_path / "a.env", turn=turn, allow_secret=True).capture_id


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Let something happen after the first piece of a file was read."""

    def happen(what: Callable[[], object]) -> None:
        read = os.read
        once = iter([what])

        def reads(descriptor: int, count: int) -> bytes:
            piece = read(descriptor, count)
            next(once, lambda: None)()
            return piece

        monkeypatch.setattr(os, "read", reads)

    return happen


@pytest.mark.parametrize("what", ["vanish", "shrink", "grow", "change", "replace"])
def test_a_file_that_changes_while_it_is_read_is_refused(
    me: Any, turn: str, home: Path, tmp_path: Path,
    reading: Callable[[Callable[[], object]], None], what: str,
) -> None:  # fmt: skip
    """Nothing is kept of a file that was not at rest, and it can be given again."""
    path = tmp_path / "a.bin"
    path.write_bytes(b"\xff" * 3 * MEGABYTE)

    def happens() -> None:
        if what == "vanish":
            path.unlink()
        elif what == "replace":
            (tmp_path / "b.bin").write_bytes(b"\xfe" * 3 * MEGABYTE)
            (tmp_path / "b.bin").replace(path)
        else:
            with path.open("r+b") as file:
                if what == "change":
                    file.seek(2 * MEGABYTE)
                    file.write(b"\0")
                else:
                    file.truncate((4 if what == "grow" else 1) * MEGABYTE)

    reading(happens)
    with pytest.raises(UsageError, match="changed or went away"):
        me.capture_attachment(path, turn=turn)

    assert stored(home) == []
    if what != "vanish":
        assert me.capture_attachment(path, turn=turn).bytes == path.stat().st_size


def test_a_large_file_is_read_in_pieces(
    me: Any, turn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No more than a megabyte is asked for at once, whatever the size."""
    path = tmp_path / "sparse.bin"
    with path.open("wb") as file:
        file.truncate(32 * MEGABYTE)
    asked: list[int] = []
    read = os.read

    def reads(descriptor: int, count: int) -> bytes:
        asked.append(count)
        return read(descriptor, count)

    monkeypatch.setattr(os, "read", reads)

    assert me.capture_attachment(path, turn=turn).bytes == 32 * MEGABYTE
    assert max(asked) <= MEGABYTE


@pytest.fixture
def small(tmp_path: Path) -> Iterator[shiyi.Scope]:
    """A scope whose attachments have at most one megabyte."""
    home = tmp_path / "small"
    home.mkdir(mode=0o700)
    (home / "settings.toml").write_text("attachment_mb = 1", "utf-8")
    with shiyi.open(home, model="none") as opened:
        yield opened.scope("me")


def test_a_limit_is_kept(small: Any, tmp_path: Path) -> None:
    """One byte more than the setting says is refused, and nothing of it stays."""
    small.preflight("我发个文件。", turn="a")
    (tmp_path / "more").write_bytes(bytes(MEGABYTE + 1))
    (tmp_path / "just").write_bytes(bytes(MEGABYTE))

    with pytest.raises(UsageError, match="attachment_mb"):
        small.capture_attachment(tmp_path / "more", turn="a")

    assert small.capture_attachment(tmp_path / "just", turn="a").bytes == MEGABYTE
    assert len(stored(tmp_path / "small")) == 1


def test_a_write_that_fails_leaves_no_bytes(
    me: Any, turn: str, home: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Bytes that no row names are taken away again; those that others name stay."""
    for name in ("kept", "new"):
        (tmp_path / name).write_bytes(f"\0{name}".encode())
    first = me.capture_attachment(tmp_path / "kept", turn=turn)

    def refuse(*_: Any) -> None:
        raise HomeUnwritableError("The disk is full.")

    monkeypatch.setattr("shiyi.store.repeats.keep_result", refuse)
    for name in ("kept", "new"):
        with pytest.raises(HomeUnwritableError):
            me.capture_attachment(tmp_path / name, turn=turn, key=name)

    assert [path.name for path in stored(home)] == [first.sha256]
    monkeypatch.undo()
    assert me.capture_attachment(tmp_path / "new", turn=turn, key="new").new


def test_what_a_killed_process_left_is_swept(
    me: Any, turn: str, home: Path, tmp_path: Path
) -> None:
    """Half-read files of another process are removed before the next one is read."""
    (home / "attachments").mkdir(mode=0o700)
    (home / "attachments" / ".0000-1.tmp").write_bytes(b"half")
    (tmp_path / "a").write_bytes(b"\0")

    kept = me.capture_attachment(tmp_path / "a", turn=turn)

    assert [path.name for path in stored(home)] == [kept.sha256]


def test_many_threads_give_the_same_file(me: Any, turn: str, home: Path, tmp_path: Path) -> None:
    """Under one turn it is registered once, under others once each; the bytes lie there once."""
    (tmp_path / "a.txt").write_text(NOTE, "utf-8")
    turns = [turn] * 5 + [f"t{n}" for n in range(5)]
    for name in set(turns) - {turn}:
        me.preflight(f"我发 {name}", turn=name)
    start = threading.Barrier(len(turns))

    def give(name: str) -> Any:
        start.wait()
        return me.capture_attachment(tmp_path / "a.txt", turn=name)

    with ThreadPoolExecutor(len(turns)) as pool:
        given = list(pool.map(give, turns))

    assert len({one.attachment_id for one in given}) == 6
    assert len({one.capture_id for one in given}) == 6
    assert len(stored(home)) == 1


def test_doctor_and_validate_read_the_bytes(
    me: Any, memory: Any, turn: str, tmp_path: Path
) -> None:
    """A flipped bit is found, and mended by giving the file again."""
    (tmp_path / "a.bin").write_bytes(b"\xff" * 100)
    kept = me.capture_attachment(tmp_path / "a.bin", turn=turn)

    def states() -> list[str]:
        found = [*memory.doctor().checks, *memory.validate().checks]
        return [one.state for one in found if one.name == "attachments"]

    assert states() == ["ok", "ok"]
    Path(me.show(kept.attachment_id).attachment.path).write_bytes(b"\xfe" * 100)
    assert states() == ["failed", "failed"]
    assert not me.capture_attachment(tmp_path / "a.bin", turn=turn).new
    assert states() == ["ok", "ok"]


@pytest.mark.parametrize("form", ["jsonl", "markdown"])
def test_an_export_has_the_files(me: Any, turn: str, tmp_path: Path, form: str) -> None:
    """Each row is written, and the bytes once, beside the turns; import passes them over."""
    content = b"\xff" * 10
    for name in ("a.bin", "b.bin"):
        (tmp_path / name).write_bytes(content)
        me.capture_attachment(tmp_path / name, turn=turn)
    me.remember("别的")

    counts = me.export(tmp_path / "out", format=form).counts

    assert (counts["attachments"], counts["turns"]) == (2, 2)
    lines = (tmp_path / "out" / "attachments.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert [(one["type"], one["name"]) for one in rows] == [
        ("attachment", "a.bin"), ("attachment", "b.bin"),
    ]  # fmt: skip
    digest = hashlib.sha256(content).hexdigest()
    assert [path.name for path in (tmp_path / "out" / "attachments").iterdir()] == [digest]
    assert (tmp_path / "out" / "attachments" / digest).read_bytes() == content
    turns = (tmp_path / "out" / "turns.jsonl").read_text("utf-8").splitlines()
    assert {json.loads(line)["type"] for line in turns} == {"receipt", "step"}
    if form == "jsonl":
        assert me.import_(tmp_path / "out").failed == 0

"""A backup is whole or refused, and what is restored from it is the same to the last row."""

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shiyi.core.errors import HomeDamagedError, HomeError, HomeForeignError, UsageError
from shiyi.lifecycle.backup import back_up, managed_backups
from shiyi.lifecycle.backups import Kept, due, to_remove
from shiyi.lifecycle.edit import edit
from shiyi.lifecycle.exporting import export_scope
from shiyi.lifecycle.remember import remember
from shiyi.lifecycle.restore import open_backup, restore
from shiyi.lifecycle.sealed import Key, SealedSource, derive
from shiyi.lifecycle.snapshots import Manifest, PlainSource, verify
from shiyi.lifecycle.validate import validate, verdict
from shiyi.lifecycle.write import Words
from shiyi.store import Store, encode_json
from tests.examples import few

PHRASE = "correct horse battery"
FLIPS = 300


def filled(home: Path) -> Store:
    """Return a small open home with every kind of row that can be written, and an attachment."""
    store = Store(home, create=True)
    one = remember(
        store, "me", Words(text="我住在台南。👍", session="s"), {"topics": ["家"]}, key="k"
    )
    remember(store, "work", Words(text="Café at 3.14\nline two", said_at="2021-03-05"), {})
    edit(store, "me", one["record_id"], {"gist": "她住在台南", "date": "2021-03"}, reason="why")
    attach(store, b"bytes of a picture")
    return store


def attach(store: Store, content: bytes, name: str = "a.png") -> str:
    sha256 = hashlib.sha256(content).hexdigest()
    path = store.home / "attachments" / sha256[:2] / sha256
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    columns = {
        "scope": "me", "attachment_id": f"A{sha256[:25].upper()}", "sha256": sha256,
        "bytes": len(content), "name": name, "media_type": "image/png",
        "recorded_at": datetime(2026, 1, 2),  # noqa: DTZ001 - as the column has it
    }  # fmt: skip
    marks = ", ".join("?" * len(columns))
    query = f"INSERT INTO attachments ({', '.join(columns)}) VALUES ({marks})"
    store._database.rows(query, list(columns.values()))
    return sha256


def dumped(store: Store) -> dict[str, list[bytes]]:
    snapshots = store.snapshots
    return {table.name: list(snapshots.lines(table)) for table in snapshots.tables()}


def exported(store: Store, out: Path) -> dict[str, bytes]:
    for scope in store.scopes():
        export_scope(store, scope, out / scope, "jsonl")
    return {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small backup in a directory."""
    place = tmp_path_factory.mktemp("plain")
    with filled(place / "home") as store:
        return back_up(store, place / "backup").path


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Key]:
    """A small encrypted backup and its key."""
    place = tmp_path_factory.mktemp("sealed")
    with filled(place / "home") as store:
        made = back_up(store, place / "backup", passphrase=PHRASE).path
    salt = made.read_bytes().split(b'"salt":"')[1][:32]
    return made, derive(PHRASE, bytes.fromhex(salt.decode()))


@pytest.mark.parametrize("passphrase", [None, PHRASE])
def test_what_is_restored_is_the_same(tmp_path: Path, passphrase: str | None) -> None:
    """Every row of every table, the attachments, the export and what comes after are the same."""
    with filled(tmp_path / "home") as store:
        made = back_up(store, tmp_path / "backup", passphrase=passphrase)
        rows, files = dumped(store), exported(store, tmp_path / "out")
        home_id, last = store.home_id, store.last_seq

    new = tmp_path / "new" / "home"
    restore(open_backup(made.path, passphrase), new, made.path)

    with Store(new) as store:
        again = dumped(store)
        for table in rows:
            if table != "meta":  # when the last backup was made is noted after it
                assert again[table] == rows[table], table
        assert (store.home_id, store.last_seq) == (home_id, last)
        assert exported(store, tmp_path / "out2") == files
        assert verdict(validate(store)) == "clean"
        first = remember(
            store, "me", Words(text="我住在台南。👍", session="s"), {"topics": ["家"]}, key="k"
        )
        assert store.last_seq == last, "the idempotency key is known"
        assert store.capture("me", first["capture_id"]) is not None
        remember(store, "me", Words(text="new"), {})
        assert store.last_seq == last + 4, "a capture, a record, a link and a turn"


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40).filter(str.strip)


@settings(max_examples=few(4), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(texts, texts, st.sampled_from(["me", "b"])), max_size=6))
def test_any_memory_comes_back(
    tmp_path: Path, blank: Path, said: list[tuple[str, str, str]]
) -> None:
    """Whatever was said, its export after a restore has the same bytes."""
    place = tmp_path / os.urandom(8).hex()
    shutil.copytree(blank, place / "home")
    with Store(place / "home") as store:
        for text, gist, scope in said:
            remember(store, scope, Words(text=text), {"gist": gist}, allow_secret=True)
        back_up(store, place / "backup")
        before = exported(store, place / "out")

    restore(open_backup(place / "backup"), place / "new", place / "backup")

    with Store(place / "new") as store:
        assert exported(store, place / "out2") == before


def flipped(path: Path, chosen: random.Random) -> None:
    content = bytearray(path.read_bytes())
    bit = chosen.randrange(len(content) * 8)
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def flips_of_plain(plain: Path, place: Path, count: int) -> int:
    """Return how many of so many single flipped bits are not noticed."""
    copy, chosen, unnoticed = place / "copy", random.Random(count), 0
    shutil.copytree(plain, copy)
    files = sorted(path for path in copy.rglob("*") if path.is_file())
    for _ in range(count):
        path = chosen.choices(files, [file.stat().st_size for file in files])[0]
        before = path.read_bytes()
        flipped(path, chosen)
        try:
            verify(PlainSource(copy))
            unnoticed += 1
        except HomeError:
            pass
        path.write_bytes(before)
    verify(PlainSource(copy))
    return unnoticed


def flips_of_sealed(path: Path, key: Key, place: Path, count: int) -> int:
    copy, chosen, unnoticed = place / "copy.sealed", random.Random(count), 0
    for _ in range(count):
        shutil.copyfile(path, copy)
        flipped(copy, chosen)
        try:
            verify(SealedSource(copy, key=key))
            unnoticed += 1
        except (HomeError, UsageError):
            pass
    return unnoticed


def test_no_flipped_bit_is_passed_over(plain: Path, tmp_path: Path) -> None:
    assert flips_of_plain(plain, tmp_path, FLIPS) == 0


def test_no_flipped_bit_of_an_encrypted_one_is_passed_over(
    sealed: tuple[Path, Key], tmp_path: Path
) -> None:
    assert flips_of_sealed(*sealed, tmp_path, FLIPS) == 0


@pytest.mark.slow
def test_no_flipped_bit_of_2000_is_passed_over(
    plain: Path, sealed: tuple[Path, Key], tmp_path: Path
) -> None:
    assert flips_of_plain(plain, tmp_path, 2000) == 0
    assert flips_of_sealed(*sealed, tmp_path, 2000) == 0


def captures_of(place: Path) -> Path:
    return place / "tables" / "captures.000000.jsonl"


FAULTS: dict[str, Callable[[Path], Any]] = {
    "cut": lambda place: os.truncate(captures_of(place), 40),
    "emptied": lambda place: os.truncate(captures_of(place), 0),
    "appended": lambda place: captures_of(place).write_bytes(captures_of(place).read_bytes() * 2),
    "missing": lambda place: captures_of(place).unlink(),
    "extra": lambda place: (place / "tables" / "more.000000.jsonl").touch(),
    "extra link": lambda place: (place / "x").symlink_to("/etc"),
    "swapped": lambda place: swap(captures_of(place), place / "tables" / "records.000000.jsonl"),
    "linked": lambda place: relink(captures_of(place)),
    "manifest cut": lambda place: os.truncate(place / "manifest.json", 100),
    "manifest spaced": lambda place: respaced(place / "manifest.json"),
    "no manifest": lambda place: (place / "manifest.json").unlink(),
}


def swap(one: Path, other: Path) -> None:
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def relink(path: Path) -> None:
    path.rename(path.parents[2] / "away")
    path.symlink_to(path.parents[2] / "away")


def respaced(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"files":', b'"files": ', 1))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_backup_is_refused_before_anything(
    plain: Path, tmp_path: Path, fault: str
) -> None:
    """Cut, lengthened, missing, swapped: refused with a sentence, and no home is there."""
    copy = tmp_path / "copy"
    shutil.copytree(plain, copy)
    FAULTS[fault](copy)

    with pytest.raises((HomeDamagedError, HomeForeignError), match="nothing"):
        restore(open_backup(copy), tmp_path / "home", copy)

    assert not (tmp_path / "home").exists()


def test_a_faulty_encrypted_backup_is_refused(sealed: tuple[Path, Key], tmp_path: Path) -> None:
    """Cut anywhere, lengthened, or with chunks of another: refused."""
    path, key = sealed
    content, copy = path.read_bytes(), tmp_path / "copy"
    start = content.index(b"\n", 20) + 1
    cuts = [*range(0, len(content), 97), len(content) - 1]
    for made in [content[:cut] for cut in cuts] + [content + b"x", content[:start] + content]:
        copy.write_bytes(made)
        with pytest.raises((HomeDamagedError, HomeForeignError, UsageError)):
            verify(SealedSource(copy, key=key))


def test_a_wrong_passphrase_is_a_sentence(sealed: tuple[Path, Key], tmp_path: Path) -> None:
    path, _ = sealed
    with pytest.raises(UsageError, match="passphrase is not the one"):
        restore(open_backup(path, "another one"), tmp_path / "home", path)
    with pytest.raises(UsageError, match="give its passphrase"):
        open_backup(path)
    with filled(tmp_path / "short") as store, pytest.raises(UsageError, match="at least 8"):
        back_up(store, tmp_path / "b", passphrase="short")


def test_an_encrypted_backup_tells_nothing(sealed: tuple[Path, Key]) -> None:
    content = sealed[0].read_bytes()
    for word in ("台南", "line two", "captures", "bytes of a picture", PHRASE):
        assert word.encode() not in content


def test_foreign_and_newer_ones_are_refused(plain: Path, tmp_path: Path) -> None:
    """Another file, a database, a newer form and a newer schema each get their own sentence."""
    home, other = tmp_path / "home", tmp_path / "other"
    other.write_bytes(b"\0" * 8 + b"DUCK" + bytes(100))
    (tmp_path / "empty").mkdir()
    for place in (other, tmp_path / "empty", tmp_path / "nowhere"):
        with pytest.raises(HomeForeignError, match="no backup of Shiyi"):
            restore(open_backup(place), home, place)
    copy = tmp_path / "copy"
    shutil.copytree(plain, copy)
    content = (copy / "manifest.json").read_bytes()
    (copy / "manifest.json").write_bytes(content.replace(b'"version":1}', b'"version":2}'))
    with pytest.raises(HomeForeignError, match="newer Shiyi"):
        open_backup(copy)
    fields = {n: getattr(PlainSource(plain).manifest, n) for n in Manifest.__dataclass_fields__}
    (copy / "manifest.json").write_bytes(Manifest(**{**fields, "schema": 99}).encode())
    with pytest.raises(HomeForeignError, match="newer Shiyi"):
        restore(open_backup(copy), home, copy)
    assert not home.exists()
    assert not list(tmp_path.glob(".*restoring")), "nothing is left beside it"


def test_only_an_empty_home_is_filled(plain: Path, tmp_path: Path) -> None:
    """A home that holds anything is left as it is; an empty directory will do."""
    taken, empty = tmp_path / "taken", tmp_path / "empty"
    taken.mkdir()
    (taken / "settings.toml").write_text("", "utf-8")
    empty.mkdir()

    with pytest.raises(UsageError, match="not empty"):
        restore(open_backup(plain), taken, plain)
    restore(open_backup(plain), empty, plain)

    assert [path.name for path in taken.iterdir()] == ["settings.toml"]
    with Store(empty) as store:
        assert store.counts("me")["captures"] == 1
        for path in [empty, *empty.rglob("*")]:
            assert path.stat().st_mode & 0o077 == 0, path


def test_backups_are_private_and_share_what_did_not_change(tmp_path: Path) -> None:
    """0700 and 0600; an attachment is written once; of one day the newest three stay."""
    with filled(tmp_path / "home") as store:
        attach(store, b"x" * 100_000)
        first, second, third, fourth = (back_up(store) for _ in range(4))
        kept = managed_backups(tmp_path / "home" / "backups", store.home_id)

    assert {one.path for one in kept} == {second.path, third.path, fourth.path}
    assert [one.removed for one in (first, second, third)] == [[], [], []]
    assert fourth.removed == [first.path.name]
    assert first.linked == 0
    assert second.linked > 100_000
    for path in [first.path.parent, *first.path.parent.rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)


def test_seven_days_and_four_weeks_stay() -> None:
    """The newest of each day and week, and the newest three; nothing else."""
    start = datetime(2026, 3, 31, 20, tzinfo=UTC)
    kept = [
        Kept(Path(f"{day}-{hour}"), start - timedelta(days=day, hours=hour), sealed=False)
        for day in range(40)
        for hour in (0, 5)
    ]

    gone = {str(one.path) for one in to_remove(kept)}

    stay = [str(one.path) for one in kept if str(one.path) not in gone]
    assert stay[:8] == ["0-0", "0-5", *(f"{day}-0" for day in range(1, 7))]
    assert stay[8:] == ["9-0", "16-0"], "two of the four weeks are among the days"


def test_a_backup_is_due_when_changes_wait(tmp_path: Path) -> None:
    with Store(tmp_path / "home", create=True) as store:
        later = datetime.now(UTC) + timedelta(days=8)
        assert due(store, 7, now=later) is None, "there is nothing to lose"
        remember(store, "me", Words(text="甲"), {})
        assert due(store, 7) is None
        assert "there was none" in str(due(store, 7, now=later))
        back_up(store)
        assert due(store, 7, now=later) is None
        remember(store, "me", Words(text="乙"), {})
        assert "the last one is of" in str(due(store, 7, now=later))


def test_a_place_that_is_taken_is_refused(tmp_path: Path) -> None:
    """A file or the home itself is no place; a directory gets the backup inside."""
    (tmp_path / "file").touch()
    (tmp_path / "stick").mkdir()
    with filled(tmp_path / "home") as store:
        with pytest.raises(UsageError, match="there already"):
            back_up(store, tmp_path / "file")
        with pytest.raises(UsageError, match="in the home itself"):
            back_up(store, tmp_path / "home" / "b")
        made = back_up(store, tmp_path / "stick")

        for within in (made.path, made.path / "new"):
            with pytest.raises(UsageError, match="is a backup itself"):
                back_up(store, within)
        (tmp_path / "site").mkdir()
        (tmp_path / "site" / "manifest.json").write_text('{"name": "not ours"}')
        assert back_up(store, tmp_path / "site").path.parent == tmp_path / "site"

    assert made.path.parent == tmp_path / "stick"
    assert verify(open_backup(made.path)) == made.bytes


def test_missing_bytes_of_an_attachment_are_named(tmp_path: Path) -> None:
    """A backup is made all the same, and says what it could not take."""
    with filled(tmp_path / "home") as store:
        gone = attach(store, b"soon gone")
        (store.home / "attachments" / gone[:2] / gone).unlink()
        made = back_up(store, tmp_path / "b")
        assert verdict(validate(store)) == "failed"

    assert made.manifest.missing == [gone]
    restore(open_backup(tmp_path / "b"), tmp_path / "new", tmp_path / "b")


def test_an_encrypted_backup_leaves_no_plain_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is written nothing of it lies anywhere but in the database and the sealed file."""
    seen: list[str] = []
    with filled(tmp_path / "home") as store:
        before = {str(path) for path in tmp_path.rglob("*")}
        fsync = os.fsync

        def look(descriptor: int) -> None:
            seen.extend(str(path) for path in tmp_path.rglob("*") if str(path) not in before)
            fsync(descriptor)

        monkeypatch.setattr(os, "fsync", look)
        made = back_up(store, tmp_path / "stick.sealed", passphrase=PHRASE)

    assert set(seen) == {str(tmp_path / ".stick.sealed.partial"), str(made.path)}
    assert b"picture" not in made.path.read_bytes()


@pytest.mark.parametrize("named", ["../../../secret", "/etc/hostname", "0" * 64])
def test_a_row_of_a_backup_is_no_path(plain: Path, tmp_path: Path, named: str) -> None:
    """Whoever writes rows anew gets no home that reads, copies or removes a file elsewhere."""
    copy = shutil.copytree(plain, tmp_path / "copy")
    content = json.loads((copy / "manifest.json").read_bytes())["manifest"]
    [file] = [one for one in content["files"] if one["name"].startswith("tables/attachments.")]
    sha256 = next(n["name"] for n in content["files"] if n["name"].startswith("attachments/"))
    rows = (copy / file["name"]).read_text("utf-8").replace(sha256.partition("/")[2], named)
    (copy / file["name"]).write_text(rows, "utf-8")
    file |= {"size": len(rows.encode()), "sha256": hashlib.sha256(rows.encode()).hexdigest()}
    digest = hashlib.sha256(encode_json(content).encode()).hexdigest()
    whole = encode_json({"manifest": content, "sha256": digest})
    (copy / "manifest.json").write_text(f"{whole}\n", "utf-8")

    with pytest.raises(HomeDamagedError, match="other attachments"):
        restore(open_backup(copy), tmp_path / "new", copy)

    assert [path.name for path in tmp_path.iterdir()] == ["copy"]


@pytest.mark.parametrize(
    "change",
    [
        {"last_seq": 1}, {"last_seq": -1}, {"last_seq": "9"}, {"home_id": "../../x"},
        {"home_id": 5}, {"schema": 1}, {"schema": 0}, {"schema": True}, {"missing": 5},
        {"missing": [5]}, {"created_at": 3}, {"tables": []}, {"rows": 1}, {"program": None},
    ],
    ids=str,
)  # fmt: skip
def test_a_manifest_with_a_hash_of_its_own_is_held_against_the_rows(
    plain: Path, tmp_path: Path, change: dict[str, Any]
) -> None:
    """Whoever edits the manifest and hashes it anew gets no home that is not what it says."""
    copy = shutil.copytree(plain, tmp_path / "copy")
    content = json.loads((copy / "manifest.json").read_bytes())["manifest"]
    if "rows" in change:
        content["tables"][0]["rows"] += change["rows"]
    else:
        content |= change
    digest = hashlib.sha256(encode_json(content).encode()).hexdigest()
    whole = encode_json({"manifest": content, "sha256": digest})
    (copy / "manifest.json").write_text(f"{whole}\n", "utf-8")

    with pytest.raises(HomeError):
        restore(open_backup(copy), tmp_path / "new", copy)

    assert not (tmp_path / "new").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["copy"]

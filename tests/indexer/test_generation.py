"""Generations: the same bytes from the same state, checked in full, replaced whole."""

import hashlib
import json
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shiyi.core.errors import IndexUnusableError
from shiyi.indexer import generation as generation_module
from shiyi.indexer import indexes as indexes_module
from shiyi.indexer import reindex as reindex_module
from shiyi.indexer import vectors as vectors_module
from shiyi.indexer.embeddings import KEYS, ROWS
from shiyi.indexer.generation import CURRENT, MANIFEST, Manifest, open_current, scope_directory
from shiyi.models.encoder import Encoder, load_encoder
from shiyi.models.hashing import HashingEncoder
from tests.conftest import Memory

QUERIES = ("爬山", "RTX4090", "coffee in the rain", "0912 345 678", "不存在的東西")
Files = dict[str, bytes]


def fill(memory: Any, count: int = 12) -> None:
    """Remember a little of everything, the same each time but for the ids."""
    for n in range(count):
        memory.capture(f"c{n}", f"第{n}天，我們去爬山，買了RTX4090。", session_id="s",
                       **({"previous": f"c{n - 1}"} if n else {}))  # fmt: skip
        memory.record(f"r{n}", f"Coffee number {n} in the rain.", topics=("咖啡", f"t{n % 3}"))
        if n % 4 == 0:
            memory.quote(f"r{n}", f"c{n}", 0, 5)
    memory.capture("phone", "電話是0912-345-678。" * 40)


@pytest.fixture(scope="module")
def twelve(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a little of everything, made once to be copied."""
    memory = Memory(tmp_path_factory.mktemp("twelve") / "home", HashingEncoder)
    fill(memory)
    memory.close()
    return memory.home


@pytest.fixture
def filled(twelve: Path, tmp_path: Path) -> Path:
    """A home with a little of everything, and no index."""
    return shutil.copytree(twelve, tmp_path / "filled")


@pytest.fixture
def memory(
    make_memory: Callable[..., Memory], hashing: Callable[[], Encoder], filled: Path
) -> Memory:
    """A memory with a little of everything."""
    return make_memory(hashing, filled)


def files(directory: Path) -> Files:
    """Return everything below a directory, by relative name."""
    found = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in sorted(found)}


def answers(memory: Any, scope: str = "me") -> list[Any]:
    """Return what the queries find, without what is said of the way there."""
    found = [memory.search(query, scope).model_dump() for query in QUERIES]
    return [{k: v for k, v in one.items() if k not in {"notes", "tokens"}} for one in found]


def index_of(memory: Any, scope: str = "me") -> Path:
    return scope_directory(memory.home, scope)


def test_two_builds_of_one_state_are_the_same_bytes(memory: Any) -> None:
    """Built again, anew or from what is there, the index is byte for byte the same."""
    first = memory.indexes.reindex("me")
    before = files(index_of(memory))
    for full in (False, True):
        assert memory.indexes.reindex("me", full=full).directory == first.directory
        assert files(index_of(memory)) == before
    shutil.rmtree(index_of(memory))
    memory.reopen()
    memory.indexes.reindex("me")

    assert files(index_of(memory)) == before
    assert set(before) == {CURRENT} | {name for name in before if "/" in name}
    assert len({name.split("/")[0] for name in before if "/" in name}) == 1


def test_terms_taken_over_are_as_good_as_new_ones(memory: Any) -> None:
    """After changes, a build that takes unchanged terms over equals a build from nothing."""
    memory.indexes.reindex("me")
    memory.edit(memory.record("r_new", "新的一句話"), gist="改過的一句話")
    memory.capture("c_new", "後來又下雨了。" * 100)
    memory.indexes.reindex("me")
    reused = files(index_of(memory))
    memory.indexes.reindex("me", full=True)

    assert files(index_of(memory)) == reused


def test_an_empty_scope_can_be_built(
    make_memory: Callable[..., Any], hashing: Callable[[], Encoder]
) -> None:
    """Nothing at all is a state like any other, with and without a model."""
    memory = make_memory(hashing)
    memory.capture("c", "雨", scope="you")
    for keywords_only in (False, True):
        generation = memory.indexes.reindex("me", keywords_only=keywords_only)
        assert generation.manifest.documents == 0
        memory.reopen()
        found = memory.search("雨")
        assert (found.outcome, found.hits) == ("empty", [])
        assert not any("rebuilt" in note for note in found.notes)


def test_files_are_private(memory: Any) -> None:
    """Only the owner can read an index."""
    memory.indexes.reindex("me")
    for path in (memory.home / "index").rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)


# Faults


def damage(directory: Path, fault: str, chance: random.Random, other: Files) -> str:
    """Do one thing to one file and return which; `other` is another generation's files."""
    paths = sorted(path for path in directory.rglob("*") if path.is_file())
    path = chance.choice([path for path in paths if fault == "flip" or path.stat().st_size > 1])
    content = path.read_bytes()
    if fault == "missing":
        path.unlink()
    elif fault == "truncated":
        path.write_bytes(content[: chance.randrange(len(content))])
    elif fault == "longer":
        path.write_bytes(content + b"\0")
    elif fault == "swapped":
        path.write_bytes(chance.choice([c for c in other.values() if c != content]))
    else:
        place = chance.randrange(len(content))
        changed = content[place] ^ (1 << chance.randrange(8))
        path.write_bytes(content[:place] + bytes([changed]) + content[place + 1 :])
    return path.name


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few documents be many, so that the quantised file is there too."""
    monkeypatch.setattr(vectors_module, "EXACT_LIMIT", 10)
    monkeypatch.setattr(reindex_module, "EXACT_LIMIT", 10)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("faults", [32, pytest.param(200, marks=pytest.mark.slow)])
def test_every_fault_is_found_said_and_mended(memory: Any, faults: int) -> None:
    """Whatever happens to a file of the index, it is noticed, rebuilt, and answers are right."""
    memory.indexes.reindex("me")
    other = files(index_of(memory))
    memory.capture("last", "最後一句：coffee。")
    memory.indexes.reindex("me")
    directory = index_of(memory)
    whole, expected = files(directory), answers(memory)
    assert any(name.endswith("vectors.faiss") for name in whole)
    chance = random.Random(faults)
    damaged = set()
    for n in range(faults):
        fault = ("flip", "truncated", "missing", "swapped", "flip", "longer")[n % 6]
        damaged.add(damage(directory, fault, chance, other))
        memory.reopen()
        notes = memory.search(QUERIES[n % 4]).notes

        assert len([note for note in notes if "was rebuilt because" in note]) == 1, (n, fault)
        if n % 10 == 0:
            assert answers(memory) == expected
        assert files(directory) == whole
        assert memory.search(QUERIES[0]).notes == []
    assert len(damaged) > 12


def test_no_fault_reaches_an_answer(memory: Any) -> None:
    """After a fault in each file in turn, every query is answered as if nothing had happened."""
    memory.indexes.reindex("me")
    expected = answers(memory)
    for name in sorted(files(index_of(memory))):
        path = index_of(memory) / name
        path.write_bytes(path.read_bytes()[:-1] + b"\xff")
        memory.reopen()
        assert answers(memory) == expected


@pytest.mark.usefixtures("large")
def test_one_flipped_bit_in_any_file_is_noticed(memory: Any) -> None:
    """Wherever it is, the first search after opening says so and answers from what is whole."""
    memory.indexes.reindex("me")
    whole = files(index_of(memory))
    assert {"vectors.npy", "vectors.faiss", "cards.bin"} <= {Path(name).name for name in whole}
    for name, content in whole.items():
        place = len(content) * 2 // 3
        flipped = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        (index_of(memory) / name).write_bytes(flipped)
        memory.reopen()
        notes = memory.search("爬山").notes
        assert len([note for note in notes if "was rebuilt because" in note]) == 1, name
        assert files(index_of(memory)) == whole


def test_a_generation_of_nobody_is_not_trusted(memory: Any) -> None:
    """A lost CURRENT, or one that names what is not there, is said and mended."""
    memory.indexes.reindex("me")
    current = index_of(memory) / CURRENT
    whole = current.read_bytes()
    for content in (
        b"",
        b"\n",
        whole.strip(),
        whole.upper(),
        b"..\n",
        b"0123456789abcdef\n",
        b"\xff\n",
    ):
        current.write_bytes(content)
        memory.reopen()
        assert "was rebuilt because" in memory.search("爬山").notes[0]
        assert current.read_bytes() == whole


def remake(directory: Path, **changes: Any) -> None:
    """Let a generation that is whole in itself serve, with other facts in its manifest."""
    generation = open_current(directory)
    assert generation is not None
    facts = json.loads((generation.directory / MANIFEST).read_bytes()) | changes
    content = json.dumps(facts, sort_keys=True, ensure_ascii=False).encode()
    name = hashlib.sha256(content).hexdigest()[:16]
    generation.directory.rename(directory / name)
    (directory / name / MANIFEST).write_bytes(content)
    (directory / CURRENT).write_text(f"{name}\n")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"format": 0}, "it has format 0; this version reads"),
        ({"format": 99}, "it has format 99; this version reads"),
        ({"more": 1}, "its manifest cannot be read"),
        ({"home_id": "another"}, "it belongs to another home"),
        ({"scope": "you"}, "it belongs to another home"),
        ({"analyzer": "older"}, "another version of the analyzer made it"),
        ({"seq": 10_000}, "it is ahead of the database"),
    ],
)
def test_what_does_not_belong_is_refused_with_a_sentence(
    memory: Any, changes: dict[str, Any], reason: str
) -> None:
    """An old format, another home or another analyzer is named, and the index is rebuilt."""
    memory.indexes.reindex("me")
    whole, expected = files(index_of(memory)), answers(memory)
    remake(index_of(memory), **changes)
    memory.reopen()

    assert f"The index of me was rebuilt because {reason}" in memory.search("爬山").notes[0]
    assert answers(memory) == expected
    assert files(index_of(memory)) == whole


def test_terms_of_another_home_are_never_taken_over(
    make_memory: Callable[..., Any], hashing: Callable[[], Encoder]
) -> None:
    """An index carried in from elsewhere gives nothing to the one that replaces it."""
    one, two = make_memory(hashing), make_memory(hashing)
    one.capture("same", "我們去爬山。")
    two.capture("same", "今天在家喝咖啡。")
    one.indexes.reindex("me")
    shutil.copytree(one.home / "index", two.home / "index")

    for reindex in (False, True):
        if reindex:
            two.indexes.reindex("me")
        assert two.search("爬山", channels=frozenset({"lexical"})).hits == []
        assert len(two.search("咖啡", channels=frozenset({"lexical"})).hits) == 1


def test_a_manifest_says_what_it_is_made_of(memory: Any) -> None:
    """Counts, fingerprints and the hash of every file stand in the manifest."""
    generation = memory.indexes.reindex("me")
    manifest = generation.manifest

    assert manifest.format == generation_module.FORMAT
    assert (manifest.documents, manifest.embedded) == (len(generation.columns),) * 2
    assert manifest.seq == memory.store.last_seq
    assert set(manifest.files) | {MANIFEST} == {p.name for p in generation.directory.iterdir()}
    assert Manifest.decode(manifest.encode()) == manifest
    generation.verify()
    with pytest.raises(IndexUnusableError):
        Manifest.decode(b"[]")


def test_a_full_disk_does_not_keep_answers_back(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index that cannot be written is kept in memory; the answer is right and says so."""
    memory.indexes.reindex("me")
    expected = answers(memory)
    (index_of(memory) / CURRENT).write_bytes(b"?")
    memory.reopen()

    def full(_: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(reindex_module, "begin", full)
    assert "No space left on device" in memory.search("爬山").notes[0]
    assert answers(memory) == expected


# Models


def hashing_with(prompt: str, tmp_path: Path) -> Callable[[], Encoder]:
    return lambda: load_encoder("hashing", cache=tmp_path, passage_prompt=prompt)


def test_the_vectors_of_another_model_are_never_used(
    make_memory: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a change of model, what words find is embedded, and a note names the command to run."""
    monkeypatch.setattr(indexes_module, "_SOON", 0)
    memory = make_memory(hashing_with("", tmp_path))
    fill(memory, 40)
    memory.indexes.reindex("me")
    assert memory.search("爬山").mode == "hybrid"
    memory.reopen(hashing_with("passage: ", tmp_path))
    by_meaning = memory.search("爬山", channels=frozenset({"dense"}))
    assert (by_meaning.outcome, by_meaning.hits) == ("unavailable", [])
    found = memory.search("爬山", limit=50)

    assert any("`shiyi reindex`" in note for note in found.notes)
    new = {hit.id: hit.why.cosine for hit in found.hits}
    assert 0 < sum(cosine is not None for cosine in new.values()) <= 32
    memory.indexes.reindex("me")
    found = memory.search("爬山", limit=50)
    assert (found.mode, found.notes) == ("hybrid", [])
    assert all(new[hit.id] in {None, hit.why.cosine} for hit in found.hits if hit.id in new)

    memory.reopen(hashing_with("", tmp_path))  # and back: its vectors are still kept
    assert memory.search("爬山").mode == "hybrid"


def test_another_calibration_is_another_model(
    make_memory: Callable[..., Any], filled: Path, hashing: Callable[[], Encoder]
) -> None:
    """Centred vectors are only used with the calibration that centred them."""
    memory = make_memory(hashing, filled)
    memory.indexes.reindex("me")
    path = open_current(index_of(memory))
    assert path is not None
    remake(index_of(memory), calibration="another")
    (index_of(memory) / (index_of(memory) / CURRENT).read_text().strip() / "vectors.npy").unlink()
    memory.reopen()

    found = memory.search("爬山")  # the raw vectors are kept, so they are centred anew
    assert (found.mode, found.notes) == ("hybrid", [])


def test_without_a_model_keywords_answer_and_say_so(
    make_memory: Callable[..., Any], filled: Path, keywords: Callable[[], Encoder]
) -> None:
    """No model is no error: what the words find is found, and the note says why no more is."""
    memory = make_memory(keywords, filled)
    found = memory.search("爬山")
    assert (found.mode, found.outcome) == ("keyword", "found")
    assert found.notes[0].startswith("Keywords only: ")

    generation = memory.indexes.reindex("me", keywords_only=True)
    assert (generation.manifest.encoder, generation.manifest.dimension) == ("", 0)
    assert memory.search("爬山").hits == found.hits


# Interruptions

CHILD = """
import sys, time
from pathlib import Path
from shiyi.indexer.indexes import Indexes
from shiyi.models.hashing import HashingEncoder
from shiyi.store import Store

class Slow(HashingEncoder):
    def encode_passages(self, texts):
        time.sleep(0.05)
        print("batch", flush=True)
        return super().encode_passages(texts)

with Store(Path(sys.argv[1])) as store:
    indexes = Indexes(store, Slow)
    print("begin", flush=True)
    indexes.reindex("me")
    print("end", flush=True)
    indexes.close()
"""


@pytest.fixture
def start() -> Iterator[Callable[[Path], "subprocess.Popen[str]"]]:
    """Start a reindex in a process of its own."""
    started = []

    def begin(home: Path) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(home)], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, cwd=home.parent,
        )  # fmt: skip
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def interrupt(process: "subprocess.Popen[str]", lines: int, how: signal.Signals) -> None:
    """Send a signal after so many lines, or after the last."""
    assert process.stdout is not None
    for _ in range(lines):
        process.stdout.readline()
    process.send_signal(how)
    process.wait(120)


@pytest.mark.parametrize(
    ("how", "kills"),
    [
        (signal.SIGKILL, 3),
        (signal.SIGINT, 2),
        pytest.param(signal.SIGKILL, 20, marks=pytest.mark.slow),
    ],
)
def test_a_broken_off_reindex_loses_nothing(
    make_memory: Callable[..., Any],
    filled: Path,
    start: Callable[[Path], "subprocess.Popen[str]"],
    counting: Any,
    tmp_path: Path,
    how: signal.Signals,
    kills: int,
) -> None:
    """The old index serves, vectors are kept as they come, and the end is that of one run."""
    memory = make_memory(lambda: counting, filled)
    memory.indexes.reindex("me")
    old, expected = files(index_of(memory)), answers(memory)
    texts = len(counting.embedded)
    memory.captures({f"more{n}": f"第{n}次散步。" for n in range(600)})
    memory.close()
    shutil.copytree(memory.home, tmp_path / "unbroken")
    chance = random.Random(kills)

    kept, serving = 0, set()
    for n in range(kills):
        interrupt(start(memory.home), 1 + n % 10 + chance.randrange(2), how)
        generation = open_current(index_of(memory))
        assert generation is not None
        generation.verify()
        serving.add(generation.directory.name)
        if f"{generation.directory.name}/{MANIFEST}" in old:
            assert {k: v for k, v in files(index_of(memory)).items() if k in old} == old
        sizes = {path.name: path.stat().st_size for path in memory.home.glob("vectors/*/*")}
        whole = min(sizes[ROWS] // 512, sizes[KEYS] // 48)
        assert whole >= kept
        kept = whole
    memory = make_memory(lambda: counting, memory.home)
    counting.embedded.clear()
    memory.indexes.reindex("me")
    assert len(counting.embedded) == texts + 600 - kept

    unbroken = make_memory(lambda: counting, tmp_path / "unbroken")
    unbroken.indexes.reindex("me")
    assert files(index_of(memory)) == files(index_of(unbroken))
    assert serving <= {name.split("/")[0] for name in (*old, *files(index_of(unbroken)))}
    assert answers(memory)[1]["hits"][0]["id"] == expected[1]["hits"][0]["id"]


def test_the_serving_generation_stays_until_the_next_is_whole(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build of the state that serves already does not touch what serves."""
    generation = memory.indexes.reindex("me")
    before = {path: path.stat().st_ino for path in generation.directory.iterdir()}
    memory.indexes.reindex("me", full=True)

    assert {path: path.stat().st_ino for path in generation.directory.iterdir()} == before

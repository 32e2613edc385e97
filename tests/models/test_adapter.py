"""What the embedded model learned, added to what its package carries."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiyi.models import adapter
from shiyi.models.adapter import STRENGTH, TunedModel, shipped_adapter, tuned_sha256
from shiyi.models.e5file import PackedModel


def packed_adapter(**matrices: object) -> bytes:
    buffer = io.BytesIO()
    named: dict[str, Any] = {name.replace("_", "."): one for name, one in matrices.items()}
    np.savez(buffer, **named)
    return buffer.getvalue()


def test_what_was_learned_is_added_to_its_matrix_and_no_other(package: Path) -> None:
    """Rows may be read by themselves, and other matrices are as the package has them."""
    content = package.read_bytes()
    plain = PackedModel(content)
    before = plain.matrix("l0.q.w")
    rng = np.random.default_rng(3)
    up, down = rng.standard_normal((len(before), 2)), rng.standard_normal((2, before.shape[1]))

    tuned = TunedModel(content, packed_adapter(l0_q_w_up=up, l0_q_w_down=down))

    expected = before + STRENGTH * (up @ down)
    np.testing.assert_allclose(tuned.matrix("l0.q.w"), expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(tuned.matrix("l0.q.w", slice(1, 3)), tuned.matrix("l0.q.w")[1:3])
    assert tuned.matrix("l0.q.w").dtype == np.float32
    np.testing.assert_array_equal(tuned.matrix("l0.k.w"), plain.matrix("l0.k.w"))


def test_what_can_run_code_is_not_read(package: Path) -> None:
    """An adapter with pickled objects is refused."""
    with pytest.raises(ValueError, match="pickle"):
        TunedModel(package.read_bytes(), packed_adapter(l0_q_w_up=np.array([{}], object)))


def test_other_weights_have_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another adapter, another strength or another package never gives vectors that may meet."""
    names = [tuned_sha256("a" * 64), tuned_sha256("b" * 64)]
    monkeypatch.setattr(adapter, "STRENGTH", STRENGTH / 2)
    names.append(tuned_sha256("a" * 64))
    monkeypatch.undo()
    monkeypatch.setattr(adapter, "shipped_adapter", lambda: b"another")
    names.append(tuned_sha256("a" * 64))

    assert len(set(names)) == len(names)


def test_the_shipped_adapter_is_small_and_whole() -> None:
    """Thin pairs that fit a model of 384 dimensions, finite, in the upper layers."""
    with np.load(io.BytesIO(shipped_adapter()), allow_pickle=False) as archive:
        learned = {name: archive[name] for name in archive.files}
    pairs = {name.rpartition(".")[0] for name in learned}

    assert len(shipped_adapter()) < 2_000_000
    assert len(learned) == 2 * len(pairs) > 0
    for name in pairs:
        up, down = learned[f"{name}.up"], learned[f"{name}.down"]
        assert up.shape[1] == down.shape[0]
        assert down.shape[1] == (1536 if ".fo." in name else 384)
        assert up.shape[0] == (1536 if ".fi." in name else 384)
        assert np.isfinite(up).all()
        assert np.isfinite(down).all()
        assert np.abs(up.astype(np.float64) @ down).max() > 0

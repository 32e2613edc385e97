"""What the embedded model learned beside its packed weights: to tell memories by their meaning.

tools/tune_encoder.py makes the adapter from questions and memories that were written for it
(tuning/). Each matrix of the upper layers gets a product of two thin ones added (LoRA, Hu et al.
2021, arXiv 2106.09685).
"""

import hashlib
import io
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from shiyi.models.e5file import PackedModel

FILE = "multilingual-e5-small-adapter.npz"
# How much of what was learned is added. The whole of it finds paraphrases and remarks a little
# better still, and names and numbers worse; see docs/decisions/0016.
STRENGTH = 0.5


class TunedModel(PackedModel):
    """A packed model whose matrices hold what was learned, too."""

    def __init__(self, content: bytes, adapter: bytes) -> None:
        """`adapter` is an `.npz` with NAME.up (outputs, rank) and NAME.down (rank, inputs)."""
        super().__init__(content)
        with np.load(io.BytesIO(adapter), allow_pickle=False) as archive:
            self._learned = {name: archive[name].astype(np.float64) for name in archive.files}

    def matrix(self, name: str, rows: slice = slice(None)) -> NDArray[np.float32]:
        """Return rows of a tensor, as `PackedModel` does."""
        packed = super().matrix(name, rows)
        if f"{name}.up" not in self._learned:
            return packed
        learned = self._learned[f"{name}.up"][rows] @ self._learned[f"{name}.down"]
        tuned: NDArray[np.float32] = (packed + STRENGTH * learned).astype(np.float32)
        return tuned


def shipped_adapter() -> bytes:
    """Return the adapter that comes with this package."""
    return files(__package__).joinpath(FILE).read_bytes()


def tuned_sha256(packed_sha256: str) -> str:
    """Return what names the weights: hex over the packed file, the adapter and its strength."""
    parts = packed_sha256, hashlib.sha256(shipped_adapter()).hexdigest(), repr(STRENGTH)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()

"""The encoder for tests: deterministic, and close where characters are shared."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.core.errors import UsageError
from shiyi.models.encoder import load_encoder
from shiyi.models.hashing import HashingEncoder

TEXTS = st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=5)


@given(TEXTS)
def test_a_row_depends_on_its_own_text_only(texts: list[str]) -> None:
    """Unit rows, bit for bit the same in any company."""
    encoder = HashingEncoder()

    together = encoder.encode_passages(texts)

    alone = np.concatenate([encoder.encode_passages([text]) for text in texts])
    assert together.tobytes() == alone.tobytes()
    assert together.dtype == np.float32
    assert together.shape == (len(texts), encoder.dimension)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)


def test_vectors_are_the_same_on_every_machine() -> None:
    """Index fixtures made with this encoder stay valid."""
    vectors = HashingEncoder(dimension=64).encode_passages(["我们在重庆吃火锅", "hot pot"])

    digest = hashlib.sha256(vectors.tobytes()).hexdigest()
    assert digest == "7d06a7309e0e0683b9a487f192b612e1dae7d7b6d01b8300e72c2c4eb600dd0d"


def test_shared_characters_make_texts_close(tmp_path: Path) -> None:
    """A query finds the passage whose words it uses."""
    encoder = load_encoder("hashing", cache=tmp_path)
    passages = encoder.encode_passages(["我们在重庆吃火锅", "The train leaves at nine."])

    best = (encoder.encode_queries(["重庆的火锅"]) @ passages.T).argmax()

    assert best == 0


def test_prompts_are_part_of_the_fingerprint(tmp_path: Path) -> None:
    """Vectors made with other prompts are never taken for the same."""
    plain = load_encoder("hashing", cache=tmp_path)
    prompted = load_encoder("hashing", cache=tmp_path, query_prompt="query: ")

    assert plain.fingerprint != prompted.fingerprint
    assert plain.fingerprint == load_encoder("hashing", cache=tmp_path).fingerprint


@pytest.mark.parametrize("blank", ["", " \n\u3000"])
def test_a_blank_text_is_refused_by_its_place(blank: str) -> None:
    """A text without meaning gets no vector."""
    with pytest.raises(UsageError, match="Text 2 of 2 is blank"):
        HashingEncoder().encode_passages(["a", blank])


def test_no_texts_give_no_rows() -> None:
    """An empty batch is not an error."""
    assert HashingEncoder().encode_queries([]).shape == (0, 128)


def test_one_string_is_not_a_list_of_texts() -> None:
    """A forgotten bracket does not encode each character."""
    with pytest.raises(UsageError, match="not one string"):
        HashingEncoder().encode_queries("重庆")

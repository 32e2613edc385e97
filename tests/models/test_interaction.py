"""Late interaction: signs of tokens, and how well those of a query are met."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.models import interaction
from shiyi.models.interaction import MOST_HEARD, Signs, Vectors, directions, max_sims, signs

DIMENSION = 16


def states(seed: int, tokens: int) -> Vectors:
    return np.random.default_rng(seed).standard_normal((tokens, DIMENSION)).astype(np.float32)


def by_hand(query: Vectors, text: Signs) -> float:
    """The mean, over the query's tokens, of the largest cosine to a token's signs."""
    corners = [[1 if bit else -1 for bit in np.unpackbits(token)] for token in text]
    cosines = [
        max(float(np.dot(token, corner)) / DIMENSION**0.5 for corner in corners) for token in query
    ]
    return float(np.mean(cosines))


@given(seed=st.integers(0, 999), asked=st.integers(1, 5), lengths=st.lists(st.integers(0, 6)))
def test_each_text_is_met_as_if_it_stood_alone(seed: int, asked: int, lengths: list[int]) -> None:
    """What is worked out for many texts at once is what two loops give for each; NaN for none."""
    centre = states(seed + 1, 1)[0]
    query = directions(states(seed, asked), centre)
    texts = [signs(states(seed + 2 + i, length), centre) for i, length in enumerate(lengths)]

    found = max_sims([query], texts)[0]

    expected = [by_hand(query, text) if len(text) else np.nan for text in texts]
    assert found == pytest.approx(expected, abs=1e-6, nan_ok=True)


def test_signs_are_seen_from_the_centre() -> None:
    """A bit is set where a state lies above the centre, and a direction begins there."""
    centre = np.linspace(-1, 1, DIMENSION).astype(np.float32)
    above = centre + np.where(np.arange(DIMENSION) % 2, 0.1, -0.1).astype(np.float32)

    assert signs(above[None], centre).tolist() == [[0b01010101, 0b01010101]]
    found = directions(np.stack([above, centre]), centre)
    assert found[0] == pytest.approx(np.where(np.arange(DIMENSION) % 2, 0.25, -0.25), abs=1e-5)
    assert found[1].tolist() == [0.0] * DIMENSION  # no direction, and no error


def test_the_same_tokens_meet_best() -> None:
    """A text meets itself better than any other, at the most what signs can keep of a state."""
    centre = np.zeros(DIMENSION, np.float32)
    texts = [states(seed, 4) for seed in range(20)]
    for place, text in enumerate(texts):
        found = max_sims([directions(text, centre)], [signs(one, centre) for one in texts])[0]
        assert found.argmax() == place
        assert found.max() <= 1


@given(lengths=st.lists(st.integers(0, 9), min_size=1), kept=st.integers(1, 60))
def test_many_texts_and_queries_are_met_as_each_alone(lengths: list[int], kept: int) -> None:
    """However many sums are held at once, and whichever of them have no tokens."""
    centre = states(1, 1)[0]
    queries = [directions(states(9 + k, k), centre) for k in (3, 0, 1)]
    texts = [signs(states(20 + i, length), centre) for i, length in enumerate(lengths)]
    with mock.patch.object(interaction, "_KEPT", kept):
        found = max_sims(queries, texts)

    each = [[max_sims([query], [text])[0, 0] for text in texts] for query in queries]
    assert found == pytest.approx(np.array(each), abs=1e-6, nan_ok=True)


def test_of_a_long_query_tokens_evenly_apart_are_heard() -> None:
    """So that a page of a question costs a bounded time."""
    centre = states(1, 1)[0]
    query = directions(states(2, 2 * MOST_HEARD + 1), centre)
    text = signs(states(3, 5), centre)

    assert max_sims([query], [text]) == max_sims([query[::3]], [text])
    whole = query[:MOST_HEARD]
    assert max_sims([whole], [text])[0, 0] == pytest.approx(by_hand(whole, text), abs=1e-6)


def test_no_tokens_are_met_by_nothing() -> None:
    """A query without tokens, or no texts, ends in no numbers."""
    nothing = np.empty((0, DIMENSION), np.float32)
    text = signs(states(1, 3), np.zeros(DIMENSION, np.float32))
    assert np.isnan(max_sims([nothing], [text])).all()
    assert max_sims([states(1, 2)], []).shape == (1, 0)

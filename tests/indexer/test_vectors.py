"""The vectors of a scope: exact while that is cheap, nearly so above."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.indexer import vectors as vectors_module
from shiyi.indexer.vectors import VectorTable, quantise

Rows = np.ndarray[Any, np.dtype[np.float32]]


def clustered(count: int, dimension: int = 128, seed: int = 0) -> Rows:
    """Return unit vectors around a few centres, as texts about a few subjects have them."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(20, dimension))
    rows = centres[random.integers(0, 20, count)] + 0.5 * random.normal(size=(count, dimension))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32)


@given(base=st.integers(0, 20), added=st.integers(0, 80), seed=st.integers(0, 9))
def test_scores_are_inner_products(base: int, added: int, seed: int) -> None:
    """Base and additions score alike, all at once or a few; a row without a vector scores 0."""
    rows = clustered(base + added + 1, seed=seed)
    query, rows = rows[-1], rows[:-1].copy()
    table = VectorTable(rows[:base].copy(), np.ones(base, bool))
    for n, row in enumerate(rows[base:]):
        table.add(row if n % 3 else None)
        if n % 3 == 0:
            rows[base + n] = 0

    expected = rows.astype(float) @ query
    np.testing.assert_allclose(table.scores(query), expected, atol=2e-6)
    some = np.arange(base + added)[::2]
    assert table.scores_of(query, some).tolist() == table.scores(query)[some].tolist()
    assert table.embedded[: table.slots].tolist() == [n < base or (n - base) % 3 > 0
                                                     for n in range(base + added)]  # fmt: skip


def test_a_vector_can_come_later() -> None:
    """A slot that waited gets its vector, in the base and among the additions."""
    rows = clustered(3)
    table = VectorTable(np.zeros((1, 128), np.float32), np.zeros(1, bool))
    table.add(None)
    for slot in (0, 1):
        table.set(slot, rows[slot])

    assert table.embedded[:2].all()
    assert table.scores(rows[0])[0] == pytest.approx(1)
    assert table.scores(rows[1])[1] == pytest.approx(1)


def test_a_score_does_not_depend_on_the_place() -> None:
    """The same vector has the same score to the last digit wherever it stands."""
    rows = clustered(999)
    table = VectorTable(rows.copy(), np.ones(999, bool))
    query = clustered(1, seed=5)[0]
    found = table.scores(query)

    for place in (0, 1, 7, 500, 998):
        alone = VectorTable(rows[place : place + 1].copy(), np.ones(1, bool))
        assert alone.scores(query)[0] == found[place]


def test_candidates_hold_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best ten of many are candidates, filtered or not, and so is all that is new."""
    monkeypatch.setattr(vectors_module, "EXACT_LIMIT", 500)
    rows = clustered(6000)
    table = VectorTable(rows.copy(), np.ones(6000, bool), quantise(rows))
    for row in clustered(20, seed=3):
        table.add(row)
    random = np.random.default_rng(2)

    for share in (1.0, 0.5, 0.05):
        recalled = 0
        for query in clustered(20, seed=4):
            allowed = random.random(6020) < share
            found = table.candidates(query, allowed)
            assert allowed[found].all()
            assert set(np.flatnonzero(allowed[6000:]) + 6000) <= set(found.tolist())
            scores = np.where(allowed, table.scores(query), -2)
            recalled += len(set(np.argsort(-scores)[:10].tolist()) & set(found.tolist()))
        assert recalled / 200 >= 0.99


def test_the_quantised_form_is_deterministic() -> None:
    """Two builds of one table are the same bytes."""
    rows = clustered(700)
    assert quantise(rows) == quantise(rows.copy())

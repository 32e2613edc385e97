"""Calibrations: the recipe, its estimation, and its files."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from shiyi.core.errors import ModelUnavailableError, UsageError
from shiyi.models.calibration import (
    Calibration,
    calibration_path,
    find_calibration,
    fit_calibration,
    is_chinese,
)


def vector(*values: float) -> NDArray[np.float32]:
    return np.array(values, np.float32)


def calibration() -> Calibration:
    return Calibration(
        query_mean=vector(0, 1, 0),
        passage_mean=vector(1, 0, 0),
        language=vector(0, 0, 1),
        sources="hand-made",
        model="f" * 64,
    )


class TwoLanguages:
    """An encoder whose vectors depend on the language and on the side."""

    fingerprint = "e" * 64

    def encode_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack(
            [vector(1, 0, 0) if is_chinese(text) else vector(0, 1, 0) for text in texts]
        )

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack(
            [vector(1, 0, 0) if is_chinese(text) else vector(0, 0, 1) for text in texts]
        )


def test_centring_follows_the_recipe() -> None:
    """The mean, shrunk by .9, and the language direction are taken out; the rest is unit."""
    x = vector(0.6, 0, 0.8)[None]

    passages, queries = calibration().center_passages(x), calibration().center_queries(x)

    np.testing.assert_allclose(passages, [[-1, 0, 0]], atol=1e-6)  # .6 - .9 < 0
    np.testing.assert_allclose(
        queries, np.array([[0.6, -0.9, 0]]) / np.sqrt(0.36 + 0.81), rtol=1e-6
    )


def test_a_centred_row_does_not_depend_on_the_others() -> None:
    """A document ranks the same whether it was centred alone or with 10,000 others."""
    random = np.random.default_rng(1)
    rows = random.normal(size=(5000, 384)).astype(np.float32)
    made = Calibration(rows[0] / 20, rows[1] / 20, rows[2] / 20, sources="", model="")

    together = made.center_passages(rows)

    for start, stop in [(0, 1), (17, 18), (4095, 4097), (4999, 5000)]:
        assert made.center_passages(rows[start:stop]).tobytes() == together[start:stop].tobytes()


def test_the_identity_changes_nothing_and_rejects_nothing() -> None:
    """Callers treat an encoder without calibration like any other."""
    unit = vector(0.6, 0, 0.8)[None]
    identity = Calibration.identity(3, "f" * 64)

    np.testing.assert_allclose(identity.center_queries(unit), unit, rtol=1e-7)
    np.testing.assert_allclose(identity.center_passages(unit), unit, rtol=1e-7)
    assert identity.floor == -np.inf


def test_a_fit_takes_the_mean_of_the_languages_and_the_way_between_them() -> None:
    """Three Chinese texts weigh no more than one English text."""
    made = fit_calibration(
        TwoLanguages(), ["火锅", "重庆", "足球", "hot pot"], ["火锅", "what?"], sources="these"
    )

    np.testing.assert_allclose(made.passage_mean, [0.5, 0.5, 0])
    np.testing.assert_allclose(made.query_mean, [0.5, 0, 0.5])
    np.testing.assert_allclose(made.language, np.array([2, -1, -1]) / np.sqrt(6), rtol=1e-6)
    assert (made.model, made.sources) == (TwoLanguages.fingerprint, "these")


def test_a_language_missing_on_one_side_leaves_the_other_side_to_decide() -> None:
    """The direction comes from the passages alone when all queries are English."""
    made = fit_calibration(TwoLanguages(), ["火锅", "hot pot"], ["what?"], sources="")

    np.testing.assert_allclose(made.query_mean, [0, 0, 1])
    np.testing.assert_allclose(made.language, np.array([1, -1, 0]) / np.sqrt(2), rtol=1e-6)


def test_one_language_alone_gives_means_and_no_direction() -> None:
    """Nothing is removed that could not be measured."""
    made = fit_calibration(TwoLanguages(), ["火锅"], ["重庆"], sources="")

    assert not made.language.any()
    np.testing.assert_allclose(made.passage_mean, [1, 0, 0])


def test_a_fit_without_queries_is_refused() -> None:
    """Both sides are needed."""
    with pytest.raises(UsageError, match="passages and queries"):
        fit_calibration(TwoLanguages(), ["火锅"], [], sources="")


@pytest.mark.parametrize(
    ("text", "chinese"),
    [("我用 Python 写代码", True), ("豈𠀀", True), ("abcdefghijklmnopq火火火", False), ("", False)],
)
def test_more_than_fifteen_per_cent_of_han_is_chinese(text: str, chinese: bool) -> None:
    """Three characters in twenty are not enough; extensions and compatibility forms count."""
    assert is_chinese(text) == chinese


def test_a_saved_calibration_comes_back_whole(tmp_path: Path) -> None:
    """Equal calibrations make equal files and digests; a changed number changes the digest."""
    made = replace(calibration(), floor=-np.inf)
    made.save(tmp_path / "new" / "a.npz")
    made.save(tmp_path / "b.npz")

    loaded = Calibration.load(tmp_path / "new" / "a.npz")

    assert (tmp_path / "new" / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert loaded.digest == made.digest != calibration().digest
    assert (loaded.sources, loaded.model, loaded.floor) == (made.sources, made.model, -np.inf)
    assert loaded.query_mean.dtype == np.float32


def test_another_file_is_no_calibration(tmp_path: Path) -> None:
    """Truncated, empty, foreign or pickled: one error that says what to do."""
    path = tmp_path / "c.npz"
    calibration().save(path)
    np.savez(tmp_path / "pickled.npz", query_mean=np.array([{}], object))
    pickled = (tmp_path / "pickled.npz").read_bytes()

    for content in (path.read_bytes()[:-100], b"", b"hello", pickled):
        path.write_bytes(content)
        with pytest.raises(ModelUnavailableError, match="cannot be read; delete it"):
            Calibration.load(path)


def test_no_flipped_bit_changes_a_calibration(tmp_path: Path) -> None:
    """A damaged file is refused, or the damage is where no value is."""
    path = tmp_path / "c.npz"
    calibration().save(path)
    whole = path.read_bytes()

    refused = 0
    for position in range(0, len(whole), 3):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 4]) + whole[position + 1 :])
        try:
            assert Calibration.load(path).digest == calibration().digest
        except ModelUnavailableError:
            refused += 1
    assert refused > len(whole) / 6


def test_the_users_calibration_is_found_by_fingerprint(tmp_path: Path) -> None:
    """It is kept in the cache under the encoder's fingerprint; without one there is none."""
    mine = calibration()
    mine.save(calibration_path(mine.model, tmp_path))

    found = find_calibration(mine.model, tmp_path)

    assert found is not None
    assert found.digest == mine.digest
    assert find_calibration("0" * 64, tmp_path) is None


def test_a_calibration_of_another_model_is_refused(tmp_path: Path) -> None:
    """A file copied to the wrong name does not change the ranking silently."""
    calibration().save(calibration_path("a" * 64, tmp_path))

    with pytest.raises(ModelUnavailableError, match="made for another model"):
        find_calibration("a" * 64, tmp_path)

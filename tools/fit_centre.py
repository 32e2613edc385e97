"""Make the centre that signs of tokens are taken about, from the public texts of the calibration.

    python tools/fit_centre.py DIRECTORY [--output models/multilingual-e5-small-centre.npy]

DIRECTORY holds labelled sets in the directory form, those that models/multilingual-e5-small.md
names. The centre is the mean of two means: that of the passages and that of the queries.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shiyi.eval.load import load_dataset
from shiyi.indexer.fold import to_simplified
from shiyi.models.bundled import load_bundled
from shiyi.models.cache import default_cache

ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / "models" / "multilingual-e5-small-centre.npy"
PASSAGES, QUERIES = 150, 70  # of each set at most, evenly spaced


def texts_of(directory: Path) -> tuple[list[str], list[str]]:
    """Return passages and queries of every labelled set in a directory."""
    passages, queries = list[str](), list[str]()
    for place in sorted(filter(Path.is_dir, directory.iterdir())):
        dataset = load_dataset(place)
        passages += evenly([one.text for one in dataset.documents], PASSAGES)
        queries += evenly([one.text for one in dataset.views[0].queries], QUERIES)
    return [to_simplified(one) for one in passages], [to_simplified(one) for one in queries]


def evenly(texts: Sequence[str], most: int) -> list[str]:
    """Return at most so many of the texts, evenly spaced."""
    step = max(1.0, len(texts) / most)
    return [texts[int(place * step)] for place in range(min(most, len(texts)))]


def mean_of(states: Sequence[NDArray[np.float32]]) -> NDArray[np.float64]:
    """Return the mean token of each text, and of these the mean: a long text counts once."""
    means = [one.mean(axis=0, dtype=np.float64) for one in states if len(one)]
    mean: NDArray[np.float64] = np.mean(means, axis=0)
    return mean


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    given = parser.parse_args()
    passages, queries = texts_of(given.directory)
    encoder = load_bundled(cache=Path(default_cache()), query_prompt=None, passage_prompt=None)
    sides = [
        mean_of(encoder.token_states(texts, query=query))
        for texts, query in ((passages, False), (queries, True))
    ]
    np.save(given.output, np.mean(sides, axis=0).astype(np.float32), allow_pickle=False)
    print(f"{given.output}: from {len(passages)} passages and {len(queries)} queries")


if __name__ == "__main__":
    main()

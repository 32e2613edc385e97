"""What the analyzer knows of words: jieba's dictionary, the stop words, the stemmer."""

import importlib.metadata
import importlib.resources
import logging
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import Stemmer

from shiyi.core.files import make_private_directory
from shiyi.models.cache import default_cache


def dictionary() -> dict[str, int]:
    """Return the words that jieba knows, and the beginnings of words with a count of 0."""
    known: dict[str, int] = segmenter().FREQ
    return known


@cache
def stop_words() -> frozenset[str]:
    """Return the words that say too little to be looked for."""
    content = importlib.resources.files("shiyi.indexer").joinpath("stopwords.txt")
    return frozenset(content.read_text("utf-8").split())


@cache
def stemmer() -> Any:
    """Return the stemmer of Latin words."""
    return Stemmer.Stemmer("english")


def _dictionary_cache() -> Path:
    try:
        return make_private_directory(Path(default_cache()) / "jieba")
    except OSError:
        return Path(tempfile.mkdtemp(prefix="shiyi-"))  # private, and of use to this process only


@cache
def segmenter() -> Any:
    """Return jieba's tokenizer with its built-in dictionary; about a second on first use."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jieba 0.42.1 has old escapes and pkg_resources
        import jieba  # noqa: PLC0415 - its dictionary takes a second to load
    jieba.setLogLevel(logging.CRITICAL)  # a cache that cannot be written is only slower
    cutter = jieba.Tokenizer()
    # jieba unmarshals its cache; in the shared temporary directory anyone could put one there.
    cutter.tmp_dir = str(_dictionary_cache())
    cutter.cache_file = f"dictionary-{importlib.metadata.version('jieba')}"
    cutter.initialize()
    return cutter

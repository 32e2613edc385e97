"""sentence-transformers behind the interface: any model in a local directory or hub cache.

Nothing is fetched: a hub name is looked up in the local cache only. Importing torch costs
about nine seconds, so it happens when the first such model is loaded.
"""

import hashlib
import json
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiyi.core.errors import ModelUnavailableError
from shiyi.models.cache import file_sha256
from shiyi.models.calibration import find_calibration
from shiyi.models.engine import EngineEncoder, Identity

_BATCH = 32
# Assumed when a model states no limit: what most encoders were trained with.
_USUAL_MAX_TOKENS = 512
_WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "*.model")
_SETTINGS = ("*.json", "*.txt")
# Exports of the same weights for other runtimes, which are not loaded.
_OTHER_FORMS = {"onnx", "openvino"}
_PASSAGE_PROMPTS = ("document", "passage", "corpus")


class SentenceEngine:
    """A sentence-transformers model in float32; prompts of None are the model's own."""

    name = "torch-float32"

    def __init__(
        self, directory: Path, *, query_prompt: str | None, passage_prompt: str | None
    ) -> None:
        self._model = _load(directory)
        own: dict[str, str] = self._model.prompts
        passage = next((own[name] for name in _PASSAGE_PROMPTS if own.get(name)), "")
        self.query_prompt = own.get("query", "") if query_prompt is None else query_prompt
        self.passage_prompt = passage if passage_prompt is None else passage_prompt
        self.max_tokens = int(self._model.max_seq_length or _USUAL_MAX_TOKENS)

    def encode(self, texts: Sequence[str], *, query: bool) -> NDArray[Any]:
        """Encode in batches, shape (texts, dimension).

        A row may differ in its last bits with the texts beside it.
        """
        encode = self._model.encode_query if query else self._model.encode_document
        prompt = self.query_prompt if query else self.passage_prompt
        vectors: NDArray[Any] = encode(
            list(texts), prompt=prompt, batch_size=_BATCH, show_progress_bar=False
        )
        return vectors

    def states(
        self, texts: Sequence[str], *, query: bool
    ) -> tuple[NDArray[Any], list[NDArray[Any]]]:
        """Return the vectors, and the last states of each text's own tokens, (tokens, hidden)."""
        encode = self._model.encode_query if query else self._model.encode_document
        prompt = self.query_prompt if query else self.passage_prompt
        found = encode(
            list(texts), prompt=prompt, batch_size=_BATCH, show_progress_bar=False,
            output_value=None,
        )  # fmt: skip
        before = len(self._model.tokenizer(prompt.rstrip())["input_ids"]) - 1
        states = []
        for one in found:
            length = int(one["attention_mask"].sum())
            states.append(one["token_embeddings"][before : length - 1].numpy())
        return np.stack([one["sentence_embedding"].numpy() for one in found]), states


def installed() -> bool:
    """Whether sentence-transformers and torch can be imported, without importing them."""
    return all(find_spec(name) is not None for name in ("sentence_transformers", "torch"))


def load_sentence_encoder(
    model: str, *, cache: Path, query_prompt: str | None, passage_prompt: str | None
) -> EngineEncoder:
    """Load a directory or a hub name from the local cache. Raises ModelUnavailableError."""
    directory = _directory(model)
    engine = SentenceEngine(directory, query_prompt=query_prompt, passage_prompt=passage_prompt)
    identity = Identity(
        model="sentence-transformers",
        weights_sha256=_directory_sha256(directory),
        pooling="the model's own",
        query_prompt=engine.query_prompt,
        passage_prompt=engine.passage_prompt,
        dimension=engine.encode(["1"], query=False).shape[1],
        max_tokens=engine.max_tokens,
    )
    calibration = find_calibration(identity.fingerprint, cache)
    name = directory.name if Path(model).expanduser().is_dir() else model
    return EngineEncoder(name, identity, quick=engine, calibration=calibration)


def is_here(model: str) -> bool:
    """Tell whether a directory or the local hub cache holds a model, as far as names can tell.

    Quick: neither torch nor transformers is imported.
    """
    path = Path(model).expanduser()
    if path.is_dir():
        return True
    if _is_path(model) or not installed():
        return False
    hub = import_module("huggingface_hub")
    kept = Path(hub.constants.HF_HUB_CACHE) / f"models--{_hub_name(model).replace('/', '--')}"
    return any((kept / "snapshots").glob("*/*"))


def _is_path(model: str) -> bool:
    return model.startswith((".", "~")) or Path(model).is_absolute()


def _hub_name(model: str) -> str:
    return model if "/" in model else f"sentence-transformers/{model}"


def _directory(model: str) -> Path:
    path = Path(model).expanduser()
    if path.is_dir():
        return path.resolve()
    if _is_path(model):
        raise ModelUnavailableError(
            f"There is no model directory at {str(path)!r}; give the path of a "
            "sentence-transformers directory."
        )
    _require_library()
    try:
        with _quiet():
            hub = import_module("huggingface_hub")
            return Path(hub.snapshot_download(_hub_name(model), local_files_only=True))
    except Exception as error:
        raise ModelUnavailableError(
            f"The model {model!r} is neither a directory nor in the local hub cache, and nothing "
            "is fetched; download it first, or give the path of a directory."
        ) from error


def _require_library() -> None:
    if not installed():
        raise ModelUnavailableError(
            "This model needs sentence-transformers and torch; install them with "
            "`pip install sentence-transformers`."
        )


def _load(directory: Path) -> Any:
    _require_library()
    if next(directory.glob("*.json"), None) is None:  # so that nobody waits for torch to hear it
        raise ModelUnavailableError(
            f"There is no model in {str(directory)!r}; give a complete sentence-transformers "
            "directory."
        )
    # Must be set before the libraries start their threads: waiting threads of a small machine
    # otherwise spin, and a process that forks later is warned about tokenizer threads.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        with _quiet():
            torch = import_module("torch")
            return import_module("sentence_transformers").SentenceTransformer(
                str(directory),
                device="cpu",
                local_files_only=True,
                model_kwargs={"dtype": torch.float32},
            )
    except Exception as error:
        raise ModelUnavailableError(
            f"The model in {str(directory)!r} cannot be loaded ({type(error).__name__}); "
            "give a complete sentence-transformers directory."
        ) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep away warnings that only the libraries' authors can heed, and progress bars."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        console = import_module("transformers.utils.logging")
        shown = console.is_progress_bar_enabled()
        console.disable_progress_bar()
        try:
            yield
        finally:
            if shown:
                console.enable_progress_bar()


def _directory_sha256(directory: Path) -> str:
    """Hash the names and contents of weights and settings, so that a moved model is the same."""
    digests = {
        path.relative_to(directory).as_posix(): file_sha256(path)
        for pattern in (*_WEIGHTS, *_SETTINGS)
        for path in directory.rglob(pattern)
        if path.is_file() and not _OTHER_FORMS & set(path.relative_to(directory).parts)
    }
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()

"""Writing a packed E5 model as a sentence-transformers directory.

Weights are stored as float16 (240 MB instead of 480) and must be loaded as float32; against
the exact weights that costs a cosine of 2e-7 at most.
"""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiyi.models.e5file import PackedModel

_LAYER_PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_NORMS = ("aln", "oln")
# Older than this and transformers warns about the tokenizer of any local model.
_TRANSFORMERS_VERSION = "5.0.0"


def write_checkpoint(model: PackedModel, tokenizer: bytes, directory: Path) -> None:
    """Fill `directory` with the model. Raises ImportError without safetensors, or OSError."""
    save = import_module("safetensors.numpy").save
    content = save(_weights(model), metadata={"format": "pt"})
    (directory / "model.safetensors").write_bytes(content)
    (directory / "tokenizer.json").write_bytes(tokenizer)
    for name, document in _documents(model).items():
        path = directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(document, indent=2), "utf-8")


def _weights(model: PackedModel) -> dict[str, NDArray[np.float16]]:
    hidden = model.hidden
    types = model.vector("emb.type").reshape(-1, hidden)
    tensors: dict[str, NDArray[Any]] = {
        "embeddings.word_embeddings.weight": model.matrix("emb.word"),
        "embeddings.position_embeddings.weight": model.vector("emb.pos").reshape(-1, hidden),
        "embeddings.token_type_embeddings.weight": types,
        "embeddings.LayerNorm.weight": model.vector("emb.ln.w"),
        "embeddings.LayerNorm.bias": model.vector("emb.ln.b"),
        # Unused by mean pooling; there so that nothing is reported missing.
        "pooler.dense.weight": np.zeros((hidden, hidden), np.float16),
        "pooler.dense.bias": np.zeros(hidden, np.float16),
    }
    for layer in range(model.layers):
        for short, long in _LAYER_PARTS.items():
            source, target = f"l{layer}.{short}", f"encoder.layer.{layer}.{long}"
            read = model.vector if short in _NORMS else model.matrix
            tensors[f"{target}.weight"] = read(f"{source}.w")
            tensors[f"{target}.bias"] = model.vector(f"{source}.b")
    return {name: tensor.astype(np.float16) for name, tensor in tensors.items()}


def _documents(model: PackedModel) -> dict[str, Any]:
    modules = ("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")
    return {
        "config.json": _config(model),
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": model.positions,
            "bos_token": model.pieces[model.bos],
            "cls_token": model.pieces[model.bos],
            "eos_token": model.pieces[model.eos],
            "sep_token": model.pieces[model.eos],
            "pad_token": model.pieces[model.pad],
            "unk_token": model.pieces[model.unk],
            "mask_token": model.pieces[-1],
        },
        "sentence_bert_config.json": {"max_seq_length": model.positions, "do_lower_case": False},
        "modules.json": [
            {
                "idx": index,
                "name": str(index),
                "path": path,
                "type": f"sentence_transformers.models.{name}",
            }
            for index, (name, path) in enumerate(modules)
        ],
        "1_Pooling/config.json": {
            "word_embedding_dimension": model.hidden,
            "pooling_mode_cls_token": False,
            "pooling_mode_mean_tokens": True,
        },
    }


def _config(model: PackedModel) -> dict[str, Any]:
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_size": model.hidden,
        "num_hidden_layers": model.layers,
        "num_attention_heads": model.heads,
        "intermediate_size": model.inner,
        "vocab_size": model.rows,
        "max_position_embeddings": model.positions,
        "type_vocab_size": model.token_types,
        "layer_norm_eps": 1e-12,
        "hidden_act": "gelu",
        "pad_token_id": model.pad,
        "dtype": "float16",
        "transformers_version": _TRANSFORMERS_VERSION,
    }

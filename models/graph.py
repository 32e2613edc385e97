"""Writing a packed E5 model as an int8 ONNX graph for single texts.

Weights are signed 8-bit with one scale per output (the word embeddings: one per row),
activations are quantized as they come, one scale per text, and attention, normalization and
pooling stay float32. There is no padding and hence no mask: a query is one text, and a text
that is run alone has a vector that does not depend on its neighbours.

    ids      int64   (1, length)   token ids with <s> and </s>, length ≤ 512
    vector   float32 (1, hidden)   the mean of the last hidden states, not yet of unit length
    states   float32 (1, length, hidden)   the last hidden states themselves
"""

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiyi.models.e5file import PackedModel

_OPSET = 21
_IR_VERSION = 10
_CONTRIB = "com.microsoft"
_LEVELS = 127
# Processors without VNNI add two products of an activation (at most 255) and a weight in 16
# bits, saturating: 2 · 255 · 64 just fits. It costs 4e-4 of cosine to float32.
_SAFE_LEVELS = 64
# Word embeddings are quantized in pieces: all 250,037 rows at once would be 400 MB of float32.
_ROWS_AT_ONCE = 16_384


def int8_onnx(model: PackedModel) -> bytes:
    """Return the ONNX file (118 MB). Raises ImportError when the package onnx is missing."""
    return _Graph(model).serialized()


class _Graph:
    def __init__(self, model: PackedModel) -> None:
        self._model = model
        self._onnx: Any = import_module("onnx")
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def serialized(self) -> bytes:
        hidden = self._embeddings()
        for layer in range(self._model.layers):
            hidden = self._layer(hidden, f"l{layer}.")
        self._add("Identity", [hidden], output="states")
        axis = self._constant(np.array([1], np.int64))
        self._add("ReduceMean", [hidden, axis], output="vector", keepdims=0)
        helper, types = self._onnx.helper, self._onnx.TensorProto
        graph = helper.make_graph(
            self._nodes,
            "e5",
            [helper.make_tensor_value_info("ids", types.INT64, [1, "length"])],
            [
                helper.make_tensor_value_info("vector", types.FLOAT, [1, self._model.hidden]),
                helper.make_tensor_value_info(
                    "states", types.FLOAT, [1, "length", self._model.hidden]
                ),
            ],
            self._constants,
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_CONTRIB, 1)]
        made = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        serialized: bytes = made.SerializeToString()
        return serialized

    def _embeddings(self) -> str:
        weights, scales = _rows_to_int8(self._model)
        steps = self._add("Gather", [self._constant(weights), "ids"])
        steps = self._add("Cast", [steps], to=self._onnx.TensorProto.FLOAT)
        scale = self._add("Gather", [self._constant(scales), "ids"])
        words = self._add("Mul", [steps, scale])
        start = self._constant(np.array([0], np.int64))
        length = self._add("Shape", ["ids"], start=1, end=2)
        table = self._constant(self._model.position_table)
        places = self._add("Slice", [table, start, length])
        total = self._add("Add", [words, places])
        norm = [self._vector("emb.ln.w"), self._vector("emb.ln.b")]
        return self._add("LayerNormalization", [total, *norm], epsilon=self._model.epsilon)

    def _layer(self, hidden: str, name: str) -> str:
        joined = self._linear(hidden, *(name + part for part in "qkv"))
        parts = [name + part for part in "qkv"]
        split = self._onnx.helper.make_node("Split", [joined], parts, axis=2, num_outputs=3)
        self._nodes.append(split)
        heads = self._model.heads
        mixed = self._contrib("MultiHeadAttention", parts, num_heads=heads)
        hidden = self._add_and_norm(self._linear(mixed, name + "ao"), hidden, name + "aln")
        inner = self._contrib("Gelu", [self._linear(hidden, name + "fi")])
        return self._add_and_norm(self._linear(inner, name + "fo"), hidden, name + "oln")

    def _linear(self, value: str, *names: str) -> str:
        """Multiply by the named matrices side by side and add their biases."""
        matrix = np.concatenate([self._model.matrix(f"{name}.w") for name in names])
        bias = np.concatenate([self._model.vector(f"{name}.b") for name in names])
        steps, scales = _to_int8(matrix, _SAFE_LEVELS)
        weights = [self._constant(steps.T), self._constant(scales)]
        return self._contrib("DynamicQuantizeMatMul", [value, *weights, "", self._constant(bias)])

    def _add_and_norm(self, value: str, residual: str, name: str) -> str:
        # Not SkipLayerNormalization, which does both at once and takes three times as long.
        total = self._add("Add", [value, residual])
        norm = [self._vector(f"{name}.w"), self._vector(f"{name}.b")]
        return self._add("LayerNormalization", [total, *norm], epsilon=self._model.epsilon)

    def _vector(self, name: str) -> str:
        return self._constant(self._model.vector(name))

    def _constant(self, values: NDArray[Any]) -> str:
        name = f"c{len(self._constants)}"
        tensor = self._onnx.numpy_helper.from_array(np.ascontiguousarray(values), name)
        self._constants.append(tensor)
        return name

    def _contrib(self, operator: str, inputs: list[str], **attributes: Any) -> str:
        return self._add(operator, inputs, domain=_CONTRIB, **attributes)

    def _add(self, operator: str, inputs: list[str], *, output: str = "", **more: Any) -> str:
        output = output or f"v{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(operator, inputs, [output], **more))
        return output


def _to_int8(
    rows: NDArray[np.float32], levels: int
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return the rows as steps from -levels to levels, and the size of a step in each row."""
    largest = np.abs(rows).max(axis=1)
    scales = np.where(largest > 0, largest / levels, 1).astype(np.float32)
    return np.rint(rows / scales[:, None]).astype(np.int8), scales


def _rows_to_int8(model: PackedModel) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Quantize the word embeddings: int8 (rows, hidden) and float32 (rows, 1)."""
    weights = np.empty((model.rows, model.hidden), np.int8)
    scales = np.empty((model.rows, 1), np.float32)
    for start in range(0, model.rows, _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        weights[rows], scales[rows, 0] = _to_int8(model.matrix("emb.word", rows), _LEVELS)
    return weights, scales

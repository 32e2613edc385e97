"""Writing the tokenizer of a packed E5 model as a `tokenizer.json`.

XLM-RoBERTa's tokenizer is a SentencePiece unigram model. The packed file keeps its pieces,
their scores and the normalizer's replacements of single code points; compositions of several
code points are left to NFC, which comes first. The result gives the same tokens as the
model's own tokenizer.json.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shiyi.models.e5file import PackedModel

# Bits of a Darts double-array unit.
_IS_LEAF = 1 << 31
_HAS_LEAF = 1 << 8
_OFFSET_SHIFT = 10
_PAGE = 256

_Trie = dict[int, Any]


def tokenizer_json(model: PackedModel) -> bytes:
    """Return the `tokenizer.json` of the model, UTF-8."""
    bos, eos = model.pieces[model.bos], model.pieces[model.eos]
    mask = len(model.pieces) - 1
    special = {index: index == mask for index in (model.bos, model.pad, model.eos, model.unk, mask)}
    first, last = ({"SpecialToken": {"id": piece, "type_id": 0}} for piece in (bos, eos))
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            _added_token(index, model.pieces[index], lstrip=lstrip)
            for index, lstrip in sorted(special.items())
        ],
        "normalizer": {"type": "Sequence", "normalizers": _normalizers(model.normalizer)},
        "pre_tokenizer": _METASPACE,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [first, {"Sequence": {"id": "A", "type_id": 0}}, last],
            "pair": [
                *(first, {"Sequence": {"id": "A", "type_id": 0}}, last),
                *(last, {"Sequence": {"id": "B", "type_id": 0}}, last),
            ],
            "special_tokens": {
                bos: {"id": bos, "ids": [model.bos], "tokens": [bos]},
                eos: {"id": eos, "ids": [model.eos], "tokens": [eos]},
            },
        },
        "decoder": _METASPACE,
        "model": {
            "type": "Unigram",
            "unk_id": model.unk,
            "vocab": list(zip(model.pieces, model.scores.tolist(), strict=True)),
            "byte_fallback": False,
        },
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


_METASPACE = {
    "type": "Metaspace",
    "replacement": "\N{LOWER ONE EIGHTH BLOCK}",
    "prepend_scheme": "always",
    "split": True,
}


def _added_token(index: int, piece: str, *, lstrip: bool) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": lstrip, "rstrip": False, "normalized": False}
    return {"id": index, "content": piece, **flags, "special": True}


def _normalizers(replacements: Mapping[int, Sequence[int]]) -> list[dict[str, Any]]:
    charsmap = base64.b64encode(precompiled_charsmap(replacements)).decode()
    return [
        {"type": "NFC"},
        {"type": "Precompiled", "precompiled_charsmap": charsmap},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
    ]


def precompiled_charsmap(replacements: Mapping[int, Sequence[int]]) -> bytes:
    """Return SentencePiece's form of a code point map.

    That is the byte length of a Darts double array over the UTF-8 of the code points (uint32,
    little endian), the array, and the NUL-ended replacements that its leaves point into.
    """
    trie: _Trie = {}
    texts = bytearray()
    for code_point, replacement in sorted(replacements.items()):
        node = trie
        *path, last = chr(code_point).encode()
        for byte in path:
            node = node.setdefault(byte, {})
        # The key 0 of a node is its leaf: no key of the map contains NUL.
        node.setdefault(last, {})[0] = len(texts)
        texts += "".join(map(chr, replacement)).encode() + b"\0"
    array = _double_array(trie).astype("<u4").tobytes()
    return len(array).to_bytes(4, "little") + array + bytes(texts)


def _double_array(trie: _Trie) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Lay a byte trie out as Darts units: a child with byte c is at (its parent's base) ^ c.

    Whole pages, so that no byte leads a reader outside the array.
    """
    units = [0] * _PAGE
    taken = {0}
    bases: set[int] = {0}
    pending = [(0, 0, trie)]
    while pending:
        place, label, node = pending.pop()
        base = next(
            base
            for base in range(1, _IS_LEAF)
            if base not in bases and not any(base ^ byte in taken for byte in node)
        )
        bases.add(base)
        taken.update(base ^ byte for byte in node)
        missing = max(base ^ byte for byte in node) + 1 - len(units)
        units += [0] * (-(-max(missing, 0) // _PAGE) * _PAGE)
        units[place] = label | (place ^ base) << _OFFSET_SHIFT | (_HAS_LEAF if 0 in node else 0)
        for byte, child in node.items():
            if byte:
                pending.append((base ^ byte, byte, child))
            else:
                units[base] = child | _IS_LEAF
    return np.array(units, np.uint32)

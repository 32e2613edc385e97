"""Tune the embedded model on pairs of questions and memories; write the adapter that it ships.

    python tools/tune_encoder.py [--output models/multilingual-e5-small-adapter.npz]

The weights stay as they are; what is learned is a small matrix product beside each matrix of the
upper layers (LoRA, Hu et al. 2021, arXiv 2106.09685), with InfoNCE over the passages of a batch.
A share of each batch are bits of a memory's own words, so that shared words stay worth something:
without them names and numbers were found less often. It takes about a quarter of an hour on two
processors. Threads add up in no fixed order, so two runs differ in their last digits.
"""

import argparse
import json
import math
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

from shiyi.indexer.fold import to_simplified
from shiyi.models.bundled import write_untuned
from shiyi.models.calibration import is_chinese

ROOT = Path(__file__).resolve().parents[1]
PAIRS = ROOT / "models" / "tuning" / "pairs.jsonl"
OUTPUT = ROOT / "models" / "multilingual-e5-small-adapter.npz"

RANK = 8
FIRST_LAYER = 3
BATCH, CROPS = 48, 24  # pairs, and bits of memories beside them
EPOCHS = 1.25
RATE = 3e-4
WARM_UP = 10  # steps
TEMPERATURE = 0.02
MAX_TOKENS = 128
HELD = 200  # pairs that are only looked at
SEED = 1
_TYPO = 0.2  # the share of crops with a slip

Pair = dict[str, Any]


class Adapted(torch.nn.Module):
    """A linear layer with a product of two thin matrices beside it."""

    def __init__(self, base: Any) -> None:
        super().__init__()
        self.base = base
        spread = 1 / math.sqrt(base.in_features)
        self.down = torch.nn.Parameter(torch.randn(RANK, base.in_features) * spread)
        self.up = torch.nn.Parameter(torch.zeros(base.out_features, RANK))

    def forward(self, given: Any) -> Any:
        """Return what the layer makes of the input, and the product beside it."""
        return self.base(given) + (given @ self.down.T) @ self.up.T


class Tuner:
    """The model with its adapters, by the names of the packed file."""

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            write_untuned(Path(directory))
            self._tokenizer = AutoTokenizer.from_pretrained(directory)
            self._model: Any = AutoModel.from_pretrained(directory, dtype=torch.float32).eval()
        for parameter in self._model.parameters():
            parameter.requires_grad_(False)
        self.adapters: dict[str, Adapted] = {}
        for number, layer in enumerate(self._model.encoder.layer):
            if number >= FIRST_LAYER:
                self._adapt(number, layer)

    def _adapt(self, number: int, layer: Any) -> None:
        places = {
            "q": (layer.attention.self, "query"),
            "k": (layer.attention.self, "key"),
            "v": (layer.attention.self, "value"),
            "ao": (layer.attention.output, "dense"),
            "fi": (layer.intermediate, "dense"),
            "fo": (layer.output, "dense"),
        }
        for short, (parent, name) in places.items():
            adapted = Adapted(getattr(parent, name))
            setattr(parent, name, adapted)
            self.adapters[f"l{number}.{short}.w"] = adapted

    def parameters(self) -> list[Any]:
        return [one for adapted in self.adapters.values() for one in (adapted.up, adapted.down)]

    def vectors(self, texts: Sequence[str], prompt: str) -> Any:
        """Return unit vectors, shape (texts, dimension), the mean of each text's tokens."""
        batch = self._tokenizer(
            [prompt + to_simplified(text) for text in texts],
            padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt",
        )  # fmt: skip
        hidden = self._model(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1).to(hidden.dtype)
        return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)

    def loss(self, pairs: Sequence[Pair], near: int = 0) -> tuple[Any, float]:
        """Return the loss of a batch, and the share of queries whose memory is nearest."""
        queries = self.vectors([pair["query"] for pair in pairs], "query: ")
        texts = [pair["memory"] for pair in pairs]
        texts += [text for pair in pairs for text in pair["near"][:near]]
        scores = queries @ self.vectors(texts, "passage: ").T / TEMPERATURE
        wanted = torch.arange(len(pairs))
        right = float((scores.argmax(1) == wanted).float().mean())
        return torch.nn.functional.cross_entropy(scores, wanted), right

    def save(self, path: Path) -> None:
        """Write the matrices as float16."""
        matrices: dict[str, Any] = {}
        for name, adapted in self.adapters.items():
            matrices[f"{name}.up"] = adapted.up.detach().numpy().astype(np.float16)
            matrices[f"{name}.down"] = adapted.down.detach().numpy().astype(np.float16)
        np.savez(path, **matrices)


def train(tuner: Tuner, pairs: list[Pair], held: Sequence[Pair]) -> None:
    """Train, telling now and then how it goes."""
    steps = int(EPOCHS * len(pairs) / BATCH)
    texts = [text for pair in pairs for text in (pair["memory"], *pair["near"])]
    optimizer = torch.optim.AdamW(tuner.parameters(), lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate_at(step, steps))
    started, at = time.monotonic(), len(pairs)
    for step in range(steps):
        if at + BATCH > len(pairs):
            random.shuffle(pairs)
            at = 0
        bits = [cropped(text) for text in random.sample(texts, CROPS)]
        loss, right = tuner.loss([*pairs[at : at + BATCH], *bits])
        at += BATCH
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(tuner.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 10 == 0 or step == steps - 1:
            seconds, lost = time.monotonic() - started, float(loss.detach())
            print(f"{step:4}/{steps} {seconds:5.0f} s  loss {lost:.3f}  {right:.0%}")
    with torch.inference_mode():
        parts = [tuner.loss(held[at : at + 50], near=2)[1] for at in range(0, len(held), 50)]
    print(f"held out, among 150 with two that look alike each: {sum(parts) / len(parts):.1%}")


def rate_at(step: int, steps: int) -> float:
    """Return the share of the learning rate at a step: up, then down along a cosine."""
    return min(1, (step + 1) / WARM_UP) * max(0.02, (1 + math.cos(math.pi * step / steps)) / 2)


def cropped(text: str) -> Pair:
    """Return a query of one to three bits of a text, and the text; now and then with a slip."""
    bits = " ".join(_bit(text) for _ in range(random.choice((1, 1, 2, 2, 3))))
    bits = bits.strip(" ,，。.!！?？「」") or text[:5]
    if random.random() < _TYPO and len(bits) > len("four"):
        at = random.randrange(len(bits))
        slip = random.choice((bits[at] * 2, "", random.choice(bits)))
        bits = bits[:at] + slip + bits[at + 1 :]
    return {"query": bits, "memory": text, "near": []}


def _bit(text: str) -> str:
    if is_chinese(text):
        return str(_run(text, random.randint(2, 7)))
    return " ".join(_run(text.split(), random.randint(1, 4)))


def _run(of: Any, length: int) -> Any:
    start = random.randrange(max(1, len(of) - length))
    return of[start : start + length]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=OUTPUT)
    output = parser.parse_args().output
    random.seed(SEED)
    torch.manual_seed(SEED)
    pairs = [json.loads(line) for line in PAIRS.read_text("utf-8").splitlines()]
    random.shuffle(pairs)
    tuner = Tuner()
    train(tuner, pairs[HELD:], pairs[:HELD])
    tuner.save(output)


if __name__ == "__main__":
    main()

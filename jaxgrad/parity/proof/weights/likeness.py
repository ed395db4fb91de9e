"""How alike a torch name and a JAX path are, and the order that a person gives names."""

from __future__ import annotations

import re
from typing import Any


_SYNONYMS = {
    "kernel": "weight",
    "scale": "weight",
    "gamma": "weight",
    "w": "weight",
    "g": "weight",
    "embedding": "weight",
    "beta": "bias",
    "offset": "bias",
    "b": "bias",
    "mean": "running_mean",
    "var": "running_var",
    "layernorm": "norm",
    "ln": "norm",
    "norm": "norm",
    "bn": "norm",
    "batchnorm": "norm",
    "attention": "attn",
    "h": "layer",
    "block": "layer",
    "blocks": "layer",
    "layers": "layer",
}


def likeness(name: str, path: str) -> float:
    """How alike a torch name and a JAX path are: words in common, numbers counted double."""
    left, right = _words(name), _words(path)
    both = sum((2.0 if w.isdigit() else 1.0) for w in left if w in right)
    return both / (1 + 0.1 * abs(len(left) - len(right)))


def _words(text: str) -> list[str]:
    text = text.replace("running_mean", "mean").replace("running_var", "var")
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    words: list[str] = re.findall(r"[a-z]+|\d+", text.lower())
    return [_SYNONYMS.get(w, w) for w in words if w not in ("params", "param", "value")]


def same_leaf(path: str, other: str) -> bool:
    """Whether two JAX paths name one leaf, one of them perhaps from further inside the tree."""
    return other == path or other.endswith("/" + path) or path.endswith("/" + other)


def natural(text: str) -> list[Any]:
    """A key that puts layer 10 behind layer 9."""
    return [(int(w), "") if w.isdigit() else (-1, w) for w in re.split(r"(\d+)", text)]

"""How alike a torch name and a JAX path are, and the order that a person gives names."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
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
    """How alike a torch name and a JAX path are: 1 for the same words in order, 0 for none.

    >>> likeness("layers.0.norm.running_mean", "batch_stats/layers/0/norm/mean")
    0.8333333333333334
    >>> likeness("layers.0.shortcut.norm.running_mean", "batch_stats/layers/0/norm/mean")
    0.7692307692307693
    """
    left, right = _words(name), _words(path)
    both = 2 * _in_common(left, right)
    return both / (sum(map(_weight, left)) + sum(map(_weight, right)) or 1.0)


def _weight(word: str) -> float:
    """Which layer it is says more than what it is called."""
    return 2.0 if word.isdigit() else 1.0


def _in_common(left: Sequence[str], right: Sequence[str]) -> float:
    """The weight of the heaviest sequence of words that is in both, in this order."""
    above = [0.0] * (len(right) + 1)
    for word in left:
        row = [0.0]
        for k, other in enumerate(right):
            same = above[k] + _weight(word) if word == other else 0.0
            row.append(max(same, above[k + 1], row[k]))
        above = row
    return above[-1]


@functools.cache
def _words(text: str) -> tuple[str, ...]:
    text = text.replace("running_mean", "mean").replace("running_var", "var")
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    words: list[str] = re.findall(r"[a-z]+|\d+", text.lower())
    return tuple(_SYNONYMS.get(w, w) for w in words if w not in ("params", "param", "value"))


def same_leaf(path: str, other: str) -> bool:
    """Whether two JAX paths name one leaf, one of them perhaps from further inside the tree."""
    return other == path or other.endswith("/" + path) or path.endswith("/" + other)


def natural(text: str) -> list[Any]:
    """A key that puts layer 10 behind layer 9."""
    return [(int(w), "") if w.isdigit() else (-1, w) for w in re.split(r"(\d+)", text)]

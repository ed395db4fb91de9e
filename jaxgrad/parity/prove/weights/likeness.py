"""Score the likeness of a torch name and a JAX path, and sort names with numbers naturally."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any


_SYNONYMS = {
    synonym: word
    for word, synonyms in {
        "weight": "kernel scale gamma w g embedding",
        "bias": "beta offset b",
        "running_mean": "mean",
        "running_var": "var",
        "norm": "layernorm ln norm bn batchnorm",
        "attn": "attention",
        "layer": "h block blocks layers",
    }.items()
    for synonym in synonyms.split()
}

_ORDERS = ("q k v", "query key value", "i f g o", "r z n")  # of the parts that torch fuses
_ROLES = {word: k for order in _ORDERS for k, word in enumerate(order.split())}


def likeness(name: str, path: str) -> float:
    """Score the likeness of a torch name and a JAX path: 1 for equal words in order, 0 for none.

    >>> likeness("layers.0.norm.running_mean", "batch_stats/layers/0/norm/mean")
    0.8333333333333334
    >>> likeness("layers.0.shortcut.norm.running_mean", "batch_stats/layers/0/norm/mean")
    0.7692307692307693
    """
    left, right = _words(name), _words(path)
    common = 2 * _in_common(left, right)
    return common / (sum(map(_weight, left)) + sum(map(_weight, right)) or 1.0)


def _weight(word: str) -> float:
    """Return a word's weight: a layer's number counts twice as much as any other word."""
    return 2.0 if word.isdigit() else 1.0


def _in_common(left: Sequence[str], right: Sequence[str]) -> float:
    """Return the weight of the heaviest common subsequence of words."""
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


def role(path: str) -> int:
    """Return the position in a fused tensor of the part that a path names, 0 if it names none.

    >>> [role(path) for path in ("attn/query/bias", "attn/key/bias", "wv", "norm/bias")]
    [0, 1, 2, 0]
    """
    words = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", path).lower())
    roles = (_ROLES.get(w, _ROLES.get(w[1:]) if w[0] in "wb" else None) for w in reversed(words))
    return next((r for r in roles if r is not None), 0)


def leaves_of(path: str, paths: Sequence[str]) -> list[int]:
    """Return the positions of the leaves that a JAX path names; it may omit outer levels.

    >>> leaves_of("bn/mean", ["bn/mean", "layer/bn/mean"])
    [0]
    >>> leaves_of("bn/mean", ["params/bn/mean", "params/bn/var"])
    [0]
    """
    if path in paths:
        return [paths.index(path)]
    ends = [other.endswith("/" + path) or path.endswith("/" + other) for other in paths]
    return [i for i, same in enumerate(ends) if same]


def natural(text: str) -> list[Any]:
    """Return a sort key that puts layer 10 after layer 9."""
    return [(int(w), "") if w.isdigit() else (-1, w) for w in re.split(r"(\d+)", text)]

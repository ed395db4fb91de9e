"""The chain rule of a small graph, with the numbers on its edges."""

import functools
from typing import NamedTuple

import jax
import torch

from parity_tests.figures.canvas import Point, arrow, both, labelled, svg, text
from parity_tests.figures.run import arrays, tensors


CASE = "backward/chain_rule"
PLACES = {
    "a": Point(52, 70),
    "b": Point(52, 190),
    "c": Point(212, 130),
    "d": Point(212, 250),
    "e": Point(380, 190),
}
EDGES = (("a", "c"), ("b", "c"), ("c", "e"), ("d", "e"))
RULES = {"c": "c = a · b", "e": "e = c · d"}


class Side(NamedTuple):
    """One framework's values, its gradients of e, and the local derivative of each edge."""

    values: dict[str, float]
    grads: dict[str, float]
    local: dict[tuple[str, str], float]


class Record(NamedTuple):
    torch: Side
    jax: Side


def record() -> Record:
    """Differentiate e with respect to every value, and each operation by itself."""
    return Record(_in_torch(), _in_jax())


def _in_torch() -> Side:
    v = {name: value.requires_grad_() for name, value in tensors(CASE).items()}
    v["c"] = v["a"] * v["b"]
    v["e"] = v["c"] * v["d"]
    grad = functools.partial(torch.autograd.grad, retain_graph=True)
    grads = {name: grad(v["e"], value)[0].item() for name, value in v.items()}
    local = {(x, y): grad(v[y], v[x])[0].item() for x, y in EDGES}
    return Side({name: value.item() for name, value in v.items()}, grads, local)


def _in_jax() -> Side:
    def product(x, y):
        return x * y

    v = dict(arrays(CASE))
    v["c"], to_c = jax.value_and_grad(product, argnums=(0, 1))(v["a"], v["b"])
    v["e"], to_e = jax.value_and_grad(product, argnums=(0, 1))(v["c"], v["d"])
    whole = jax.grad(lambda a, b, d: product(product(a, b), d), argnums=(0, 1, 2))
    grads = dict(zip("abd", whole(v["a"], v["b"], v["d"]), strict=True))
    grads |= {"c": jax.grad(product)(v["c"], v["d"]), "e": jax.grad(lambda e: e)(v["e"])}
    local = dict(zip(EDGES, (*to_c, *to_e), strict=True))
    values = {name: float(value) for name, value in v.items()}
    return Side(
        values,
        {name: float(grads[name]) for name in values},
        {edge: float(value) for edge, value in local.items()},
    )


def draw(record: Record) -> str:
    """Draw values in the nodes, gradients below them, and the local derivatives on the edges."""
    torch_side, jax_side = record
    parts = [
        text(14, 24, "forward: values →", "plain bold"),
        text(426, 24, "← backward: gradients of e", "end torch bold"),
    ]
    for x, y in EDGES:
        start, end = PLACES[x], PLACES[y]
        parts.append(arrow(Point(end.x - 40, end.y), Point(start.x + 38, start.y), "torch"))
        middle = Point((start.x + end.x) / 2, (start.y + end.y) / 2)
        local = both(torch_side.local[x, y], jax_side.local[x, y])
        parts.append(labelled(middle, 52, f"× {local}", "torch"))
    for name, place in PLACES.items():
        leaf = name not in RULES
        label = f"{name} = {both(torch_side.values[name], jax_side.values[name])}"
        parts.append(labelled(place, 76, label, "plain"))
        if not leaf:
            parts.append(text(place.x, place.y - 22, RULES[name], "middle faint"))
        grad = both(torch_side.grads[name], jax_side.grads[name])
        words = f"{name}.grad {grad}" if leaf else f"gradient {grad}"
        parts.append(text(place.x, place.y + 30, words, "middle torch bold"))
    parts.append(
        text(14, 310, "Each gradient is the product of the factors on its path from e.", "")
    )
    same = "the same numbers" if torch_side == jax_side else "different numbers"
    parts.append(text(14, 330, f"torch and JAX compute {same}.", "faint"))
    return svg("Values forward and gradients backward through e = (a · b) · d", parts, 344)

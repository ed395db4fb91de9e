"""Pair the graphs of the JAX program with those of the torch program, and unify their names."""

from collections.abc import Sequence

import numpy as np

from jaxgrad.graph import Graph, Leaf


GraphPair = tuple[Graph, Graph]


def pairs(torch: Sequence[Graph], jax: Sequence[Graph]) -> list[GraphPair] | None:
    """Pair graphs whose leaves have the same gradients.

    Args:
        torch: One graph for each backward call of the reference.
        jax: One graph for each function that the JAX program differentiates. A single graph is
            paired with each of torch's; surplus graphs without a partner are dropped.

    Returns:
        One pair for each torch graph, in torch's order, or None if they cannot be paired.
    """
    if not torch or not jax:
        return None
    left = list(jax) * (len(torch) if len(jax) == 1 else 1)
    matched: dict[int, GraphPair] = {}
    for i, graph in enumerate(torch):
        alike = (n for n, other in enumerate(left) if same_leaves(*named_alike((graph, other))[0]))
        n = next(alike, None)
        if n is not None:
            matched[i] = graph, left.pop(n)
    others = [i for i in range(len(torch)) if i not in matched]
    if len(others) == len(left):  # pair the remaining graphs in order
        matched |= {i: (torch[i], g) for i, g in zip(others, left, strict=True)}
    elif others:
        return None
    return named_alike(*(matched[i] for i in range(len(torch))))


def same_leaves(a: Graph, b: Graph) -> bool:
    """Whether both graphs have the same leaf names with the same gradients."""
    mine, others = ({leaf.name: leaf.grad for leaf in g.leaves if _lands(leaf)} for g in (a, b))
    return mine.keys() == others.keys() and all(_close(mine[k], others[k]) for k in mine)


def named_alike(*matched: GraphPair) -> list[GraphPair]:
    """Replace names that are mere indices (as in nn.Sequential) with the other framework's names.

    `0.weight` and `l1.weight` are taken for the same parameter if both have the same gradient and
    no other leaf has it.
    """
    of_torch: dict[str, str] = {}
    of_jax: dict[str, str] = {}
    for torch, jax in matched:
        known = {leaf.name for leaf in torch.leaves} & {leaf.name for leaf in jax.leaves}
        torch_leaves, jax_leaves = (
            [leaf for leaf in g.leaves if leaf.name not in known and _lands(leaf)]
            for g in (torch, jax)
        )
        for leaf in torch_leaves:
            partners = [other for other in jax_leaves if _alike(leaf, other)]
            rivals = [other for other in torch_leaves if partners and _alike(other, partners[0])]
            if len(partners) == len(rivals) == 1 and _numbered(leaf.name):
                of_torch[leaf.name] = partners[0].name
            elif len(partners) == len(rivals) == 1:
                of_jax[partners[0].name] = leaf.name
    return [(torch.renamed(of_torch), jax.renamed(of_jax)) for torch, jax in matched]


def _lands(leaf: Leaf) -> bool:
    return leaf.slot and leaf.grad is not None


def _alike(a: Leaf, b: Leaf) -> bool:
    if _numbered(a.name) == _numbered(b.name):  # neither name is better than the other
        return False
    last = [name.split(".")[-1] for name in (a.name, b.name)]
    return (last[0] == last[1] or any(map(str.isdigit, last))) and _close(a.grad, b.grad)


def _numbered(name: str) -> bool:
    return any(map(str.isdigit, name.split(".")))


def _close(a: float | None, b: float | None) -> bool:
    return (a is None) == (b is None) and bool(np.isclose(a or 0.0, b or 0.0, equal_nan=True))

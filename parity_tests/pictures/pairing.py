"""Which graph of the twin belongs beside which of the reference, and the names that both use."""

from collections.abc import Sequence

import numpy as np

from jaxgrad.graph import Graph, Leaf


Pair = tuple[Graph, Graph]


def pairs(torch: Sequence[Graph], jax: Sequence[Graph]) -> list[Pair] | None:
    """Put the graphs of both sides beside each other: those on which the same gradients land.

    Args:
      torch: One for each backward of the reference.
      jax: One for each function that the twin differentiates. One may stand for all of torch's; of
        more than torch has, those without a partner are a question that the twin asks besides.

    Returns:
      A pair for each of torch's, in its order; None if there is no such pairing.
    """
    if not torch or not jax:
        return None
    left = list(jax) * (len(torch) if len(jax) == 1 else 1)
    found: dict[int, Pair] = {}
    for i, graph in enumerate(torch):
        alike = (n for n, other in enumerate(left) if same_leaves(*named_alike((graph, other))[0]))
        n = next(alike, None)
        if n is not None:
            found[i] = graph, left.pop(n)
    others = [i for i in range(len(torch)) if i not in found]
    if len(others) == len(left):  # what is not alike stands beside what is left, in order
        found |= {i: (torch[i], g) for i, g in zip(others, left, strict=True)}
    elif others:
        return None
    return named_alike(*(found[i] for i in range(len(torch))))


def same_leaves(a: Graph, b: Graph) -> bool:
    """Whether the same gradients land, on leaves of the same names."""
    mine, others = ({leaf.name: leaf.grad for leaf in g.leaves if _lands(leaf)} for g in (a, b))
    return mine.keys() == others.keys() and all(_close(mine[k], others[k]) for k in mine)


def named_alike(*found: Pair) -> list[Pair]:
    """The same pairs, with one name where a side has a number alone: a list's, an nn.Sequential's.

    `0.weight` and `l1.weight` are one parameter if the same gradient lands on both of them, and on
    no other.
    """
    of_torch: dict[str, str] = {}
    of_jax: dict[str, str] = {}
    for torch, jax in found:
        known = {leaf.name for leaf in torch.leaves} & {leaf.name for leaf in jax.leaves}
        theirs, ours = (
            [leaf for leaf in g.leaves if leaf.name not in known and _lands(leaf)]
            for g in (torch, jax)
        )
        for leaf in theirs:
            partners = [other for other in ours if _alike(leaf, other)]
            rivals = [other for other in theirs if partners and _alike(other, partners[0])]
            if len(partners) == len(rivals) == 1 and _numbered(leaf.name):
                of_torch[leaf.name] = partners[0].name
            elif len(partners) == len(rivals) == 1:
                of_jax[partners[0].name] = leaf.name
    return [(torch.renamed(of_torch), jax.renamed(of_jax)) for torch, jax in found]


def _lands(leaf: Leaf) -> bool:
    return leaf.slot and leaf.grad is not None


def _alike(a: Leaf, b: Leaf) -> bool:
    if _numbered(a.name) == _numbered(b.name):  # both have a name of their own
        return False
    last = [name.split(".")[-1] for name in (a.name, b.name)]
    return (last[0] == last[1] or any(map(str.isdigit, last))) and _close(a.grad, b.grad)


def _numbered(name: str) -> bool:
    return any(map(str.isdigit, name.split(".")))


def _close(a: float | None, b: float | None) -> bool:
    return (a is None) == (b is None) and bool(np.isclose(a or 0.0, b or 0.0, equal_nan=True))

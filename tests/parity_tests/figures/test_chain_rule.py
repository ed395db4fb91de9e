"""The figure of the chain rule shows the numbers of torch and JAX."""

import jax
import torch

from parity_tests.figures import chain_rule
from tests.parity_tests.figures.reading import words


def test_the_numbers_are_those_of_both_frameworks():
    """Every gradient in the figure is that of a plain run of e = (a * b) * d."""
    leaves = [torch.tensor(v, requires_grad=True) for v in (2.0, 3.0, 4.0)]
    (leaves[0] * leaves[1] * leaves[2]).backward()
    of_jax = jax.grad(lambda a, b, d: a * b * d, argnums=(0, 1, 2))(2.0, 3.0, 4.0)
    drawn = words(chain_rule.draw(chain_rule.record()))

    for name, leaf, grad in zip("abd", leaves, of_jax, strict=True):
        assert leaf.grad is not None and leaf.grad.item() == grad
        assert f"{name}.grad {grad:g}" in drawn
    assert [w for w in drawn if w.startswith("×")] == ["× 3", "× 2", "× 4", "× 6"]
    assert "torch and JAX compute the same numbers." in drawn


def test_a_difference_would_be_drawn():
    """If JAX had another gradient, the figure would show both numbers."""
    same = chain_rule.record()
    other = same._replace(jax=same.jax._replace(grads=same.jax.grads | {"a": 5.0}))
    drawn = words(chain_rule.draw(other))

    assert "a.grad torch 12, JAX 5" in drawn
    assert "torch and JAX compute different numbers." in drawn

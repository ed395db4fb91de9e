"""The figure of freed tensors shows what torch's nodes hold at each moment."""

from typing import Any

import pytest
import torch

from parity_tests.figures import freed_buffers
from tests.parity_tests.figures.reading import words


@pytest.mark.parametrize("retain", [False, True])
def test_the_nodes_hold_what_a_plain_run_holds(retain):
    """The product's saved tensor is freed by the first backward, unless it is retained."""
    a = torch.tensor([0, 2, 3])
    b: Any = torch.tensor([2.0, 3.0, 4.0], requires_grad=True)
    d: Any = (a * b + b).sum()
    product = d.grad_fn.next_functions[0][0].next_functions[0][0]
    saved = product._saved_self  # the factor a, which the gradient of b needs
    record = freed_buffers.record()
    drawn = record.retained if retain else record.freed
    (node,) = (node for node in drawn.nodes if node.name == product.name())
    d.backward(retain_graph=retain)

    assert node.saved[0] == tuple(saved.tolist())
    assert drawn.grads[0] == tuple(b.grad.tolist())
    if retain:
        d.backward()
        assert node.saved == (node.saved[0],) * 3 and drawn.error == ""
        assert drawn.grads[1] == tuple(b.grad.tolist())
    else:
        with pytest.raises(RuntimeError) as raised:
            d.backward()
        assert str(raised.value) == drawn.error
        assert node.saved[1:] == (None, None) and not node.ran


def test_the_words_change_with_the_record():
    """The node that raises is marked only where the backward pass raises."""
    record = freed_buffers.record()

    assert words(freed_buffers.draw(record)).count("raises") == 1
    assert "raises" not in words(freed_buffers.draw(record._replace(freed=record.retained)))


def test_jax_returns_the_same_gradient_twice():
    """JAX's second call returns what its first call and torch's first backward return."""
    record = freed_buffers.record()

    assert record.jax[0] == record.jax[1] == record.freed.grads[0]

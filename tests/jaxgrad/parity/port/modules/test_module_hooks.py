"""Backward hooks of modules run in torch's order."""

import numpy as np
import torch
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Hooked(nn.Module):
    def __init__(self, *hooks):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        for name, hook in hooks:
            getattr(self.second, name)(hook)

    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))


def _pre():
    return Hooked(("register_full_backward_pre_hook", lambda module, grads: (grads[0] * 3,)))


def test_a_backward_pre_hook_changes_the_gradient_of_the_output():
    assert "lambda grad: grad * 3" in source(_pre(), X)
    torch.manual_seed(0)
    assert agrees(_pre(), X)
    assert not agrees(_pre(), X, without="grad * 3", instead="grad")


def _both():
    return Hooked(
        ("register_forward_hook", lambda module, args, output: output * 2),
        ("register_full_backward_hook", lambda module, inputs, outputs: (outputs[0] * 5,)),
    )


def test_a_backward_hook_sees_the_gradient_of_what_a_forward_hook_returned():
    assert agrees(_both(), X)
    assert not agrees(_both(), X, without=") * 2", instead=")")


def test_a_backward_hook_of_a_layer_has_a_name_and_a_comment():
    """The hooked layer is a function, which is called on the next line."""

    def scale(module, grad_inputs, grad_outputs):
        return (0.1 * grad_inputs[0],)

    module = Hooked(("register_full_backward_hook", scale))
    text = source(module, X)
    assert "    # a full backward hook of `second`\n    second = jaxgrad.backward_hook(" in text
    assert 'lambda x: F.linear(x, **p["second"])' in text and "return second(" in text
    assert agrees(module, X)
    assert not agrees(module, X, without="0.1 * ", instead="")

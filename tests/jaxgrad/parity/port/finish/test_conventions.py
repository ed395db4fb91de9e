"""The docstring of a port says what its functions have in common."""

from collections import OrderedDict

import jax
import numpy as np
import torch
from torch import nn

import jaxgrad
from jaxgrad.parity.port.port import port
from tests.jaxgrad.parity.port._ports import source


X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


def test_the_docstring_says_only_what_applies():
    """A key and new buffers are mentioned where the port has them."""
    plain = source(nn.Linear(3, 2), X)
    assert "`p` is the tree" in plain and "`rng`" not in plain and "updated p" not in plain
    text = source(nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5)), X)
    assert "A function that changes buffers returns (output, updated p)." in text
    assert "train mode draws from it" in text


def test_buffers_are_named():
    """The reader learns what in the tree has no gradient, and how to leave it out."""
    plain = source(nn.Linear(3, 2), X)
    assert "`p` is the tree of parameters, with" in plain and "Buffers" not in plain
    module = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 3), nn.BatchNorm1d(3))
    text = " ".join(source(module, X).split())
    named = "in torch: */running_mean, */running_var, */num_batches_tracked. Split them from `p`"
    assert named in text and "jaxgrad.partition" in text


def test_a_buffer_that_is_called_like_a_parameter_is_named_with_its_module():
    """GPT-2's causal mask is a buffer called `bias`, as are parameters of most layers.

    Several masks have one pattern, which no parameter matches.
    """

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("bias", torch.tensor([1.0, 0.0, 1.0]))
            self.fc = nn.Linear(3, 3)

        def forward(self, x):
            return self.fc(x) * self.bias

    module = nn.Sequential(OrderedDict(attn=Attention()))
    assert "no gradient in torch: attn/bias." in source(module, X)
    module = nn.Sequential(*(nn.Sequential(OrderedDict(attn=Attention())) for _ in range(2)))
    assert "no gradient in torch: */attn/bias." in source(module, X)
    module = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 3))
    text = " ".join(source(module, X).split())
    assert "in torch: 0/running_mean, 0/running_var, 0/num_batches_tracked. Split" in text


def test_the_parameters_are_differentiated_as_the_docstring_says():
    """`jax.grad` refuses the integer that counts batches, and takes the trainable part."""
    module = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 3))
    ported = port(module, (X,), prove=False)
    names = {name for name, _ in module.named_parameters()}
    params, buffers = jaxgrad.partition(
        ported.params(module.state_dict()), lambda path, _: path.replace("/", ".") in names
    )

    def loss(params):
        out, _ = ported.fn(jaxgrad.combine(params, buffers), X, training=True)
        return (out**2).sum()

    grads = jax.grad(loss)(params)
    assert len(jax.tree.leaves(grads)) == len(names)


def test_the_docstring_says_that_complex_gradients_are_conjugates():
    """It names the complex parameters; an optimizer of optax would ascend along them otherwise."""

    class Mixes(nn.Module):
        def __init__(self):
            super().__init__()
            self.mix = nn.Parameter(torch.randn(3, 3, dtype=torch.complex64))
            self.frozen = nn.Parameter(torch.randn(3, dtype=torch.complex64), requires_grad=False)

        def forward(self, x):
            return (self.mix @ x.T.to(self.mix.dtype)).abs() + self.frozen.abs().sum()

    module = Mixes()
    for style in ("functions", "nnx"):
        assert (
            "jax.grad gives the conjugate of torch's .grad for complex parameters (mix);\n"
            "pass jax.tree.map(jnp.conj, grads) to an optimizer."
        ) in port(module, (X,), style=style, prove=False).source
    assert "conjugate" not in source(nn.Linear(3, 3), X)

"""The prover repeats a torch call with typical mistakes to explain a wrong result."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.surfaces import forward_causes
from jaxgrad.parity.prove.surfaces.forward_causes import TorchCall


torch.manual_seed(0)
X, W, B = torch.randn(5, 4), torch.randn(4, 4), torch.randn(4)
IMAGE, KERNEL = torch.randn(1, 3, 6, 6), torch.randn(3, 3, 3, 3)
Q = torch.randn(2, 3, 8)
MASK = torch.tensor([True, False, False, True])


@pytest.mark.parametrize(
    ("call", "expected", "mistake"),
    [
        (
            TorchCall(functional.layer_norm, (X, (4,)), {"eps": 1e-5}, "layer_norm"),
            functional.layer_norm(X, (4,), eps=1e-6),
            "eps is 1e-06, torch uses 1e-05",
        ),
        (
            TorchCall(functional.gelu, (X,), {}, "gelu"),
            functional.gelu(X, approximate="tanh"),
            "GELU is the tanh approximation, torch uses the exact form",
        ),
        (
            TorchCall(functional.relu, (X,), {}, "relu"),
            functional.silu(X),
            "the activation is silu, torch uses relu",
        ),
        (
            TorchCall(functional.linear, (X, W, B), {}, "linear"),
            functional.linear(X, W.T, B),
            "the square weight is transposed",
        ),
        (
            TorchCall(functional.linear, (X, W), {"bias": B}, "linear"),
            functional.linear(X, W),
            "the bias is missing",
        ),
        (
            TorchCall(functional.conv2d, (IMAGE, KERNEL), {}, "conv2d"),
            functional.conv2d(IMAGE, KERNEL.flip((2, 3))),
            "the kernel is flipped",
        ),
        (
            TorchCall(torch.softmax, (X, 1), {}, "softmax"),
            torch.softmax(X, 0),
            "softmax is over dim 0",
        ),
        (
            TorchCall(
                functional.scaled_dot_product_attention,
                (Q, Q, Q),
                {},
                "scaled_dot_product_attention",
            ),
            functional.scaled_dot_product_attention(Q, Q, Q, scale=1 / 8),
            "the scale is 1/d",
        ),
        (
            TorchCall(torch.var, (X,), {"correction": 1}, "var"),
            torch.var(X, correction=0),
            "var divides by N",
        ),
        (
            TorchCall(torch.Tensor.add, (X, 1e-5), {}, "add"),
            X + 1e-6,
            "1e-06 is added, torch adds 1e-05",
        ),
        (
            TorchCall(torch.Tensor.masked_fill, (X, MASK, 0.0), {}, "masked_fill"),
            X.masked_fill(~MASK, 0.0),
            "the mask is inverted",
        ),
    ],
)
def test_a_mistake_reproduces_its_result(call, expected, mistake):
    """One of the mistakes tried in a torch call reproduces the wrong result."""
    texts = [
        wrong.mistake
        for wrong, x in forward_causes.results(call)
        if x.shape == expected.shape and np.allclose(x, to_numpy(expected), rtol=1e-7, atol=1e-9)
    ]

    assert mistake in texts


def test_mistakes_are_tried_once():
    """Each mistake in a fill value is tried only once."""
    call = TorchCall(torch.Tensor.masked_fill, (X, MASK, 0.0), {}, "masked_fill")
    texts = [wrong.mistake for wrong, _ in forward_causes.results(call)]

    assert len(texts) == len(set(texts)) == 5


def test_a_multiple_is_found_among_fingerprints():
    """A JAX value that is torch's divided by sqrt(8) is found, and the factor is reported."""
    x = np.random.default_rng(0).standard_normal((3, 4))
    prints = np.stack([fingerprint(x + 1), fingerprint(x / 8**0.5)])
    at, factor = forward_causes.find_multiple(x, prints) or (None, 0.0)

    assert at == 1
    assert forward_causes.as_written(factor) == "1/sqrt(8)"


@pytest.mark.parametrize(
    ("x", "text"),
    [(0.5, "1/2"), (2**0.5, "sqrt(2)"), (8**-0.5, "1/sqrt(8)"), (0.3, "0.3"), (-2.0, "-2")],
)
def test_numbers_are_written_as_people_write_them(x, text):
    """Reciprocals and roots of integers are written as such."""
    assert forward_causes.as_written(x) == text


def test_the_ratio_of_gradients_is_described():
    """Gradients that are zero, proportional or partly different are described as such."""
    g = np.random.default_rng(0).standard_normal((8, 3))
    padded = g.copy()
    padded[2] = 0

    assert "zero" in forward_causes.ratio(g, g * 0)
    assert forward_causes.ratio(g, g / 4) == "JAX's gradient is torch's times 1/4"
    assert forward_causes.ratio(g, padded).startswith("only rows [2] differ")
    assert forward_causes.ratio(g, g**2) == ""
    assert forward_causes.ratio(None, g) == ""

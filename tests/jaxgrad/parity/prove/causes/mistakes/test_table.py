"""Each typical mistake reproduces the wrong result that it describes."""

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.prove.causes.mistakes import table
from jaxgrad.parity.prove.causes.mistakes.call import TorchCall
from jaxgrad.parity.prove.causes.mistakes.table import results, variants
from jaxgrad.parity.prove.wording import InJax


torch.manual_seed(0)
X, W, B = torch.randn(5, 4), torch.randn(4, 4), torch.randn(4)
IMAGE, KERNEL = torch.randn(1, 3, 6, 6), torch.randn(3, 3, 3, 3)
Q = torch.randn(2, 3, 8)
Z = torch.randn(5, 4, dtype=torch.cfloat)
CAUSAL = torch.ones(4, 4, dtype=torch.bool).tril()
PLACES = torch.tensor([1, 2, 3])
MASK = torch.tensor([True, False, False, True])


@pytest.mark.parametrize(
    ("call", "expected", "mistake"),
    [
        (
            TorchCall(
                functional.layer_norm, (X, (4,)), {"eps": 1e-5}, "layer_norm", numbers=(1e-6,)
            ),
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
            "softmax is over dim 0, torch uses 1",
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
            TorchCall(functional.normalize, (X,), {"dim": -1}, "normalize"),
            X / X.abs().sum(-1, keepdim=True),
            "p is 1, torch uses 2",
        ),
        (
            TorchCall(torch.var, (X,), {"correction": 1}, "var"),
            torch.var(X, correction=0),
            "var divides by N, torch divides by N - 1",
        ),
        (
            TorchCall(torch.Tensor.add, (X, 1e-5), {}, "add", numbers=(1e-6,)),
            X + 1e-6,
            "1e-06 is added, torch adds 1e-05",
        ),
        (
            TorchCall(torch.Tensor.masked_fill, (X, MASK, 0.0), {}, "masked_fill"),
            X.masked_fill(~MASK, 0.0),
            "the mask is inverted",
        ),
        (
            TorchCall(torch.Tensor.sin, (X,), {}, "sin"),
            X.cos(),
            "the function is cos, torch uses sin",
        ),
        (
            TorchCall(functional.gelu, (X,), {"approximate": "tanh"}, "gelu"),
            functional.gelu(X),
            "GELU is the exact form, torch uses the tanh approximation",
        ),
        (
            TorchCall(torch.Tensor.sub, (X, W[0]), {}, "sub"),
            X + W[0],
            "JAX adds, torch subtracts",
        ),
        (
            TorchCall(torch.Tensor.div, (X, B), {}, "div"),
            B / X,
            "the operands of div are swapped",
        ),
        (
            TorchCall(torch.Tensor.mul, (X, Z), {}, "mul"),
            X * Z.conj(),
            "the operand of mul is conjugated",
        ),
        (
            TorchCall(torch.Tensor.neg, (X,), {}, "neg"),
            X,
            "torch's neg is missing",
        ),
        (
            TorchCall(torch.Tensor.exp, (X,), {}, "exp"),
            -X.exp(),
            "the sign of torch's exp is flipped",
        ),
        (
            TorchCall(torch.Tensor.cumsum, (X, 0), {}, "cumsum"),
            X.flip(0).cumsum(0).flip(0),
            "cumsum runs backwards",
        ),
        (
            TorchCall(functional.conv2d, (IMAGE, KERNEL, None, 2, 1), {}, "conv2d"),
            functional.conv2d(functional.pad(IMAGE, (0, 1, 0, 1)), KERNEL, stride=2),
            "the padding is 'SAME' (0 before and 1 after), torch pads each side by 1",
        ),
        (
            TorchCall(functional.max_pool2d, (IMAGE, 3, 2, 1), {}, "max_pool2d"),
            functional.max_pool2d(functional.pad(IMAGE, (0, 1, 0, 1), value=float("-inf")), 3, 2),
            "the padding is 'SAME' (0 before and 1 after), torch pads each side by 1",
        ),
        (
            TorchCall(
                functional.batch_norm,
                (X, B * 0, B * 0 + 1, None, None, False),
                {},
                "batch_norm",
            ),
            functional.batch_norm(X, None, None, training=True),
            "the port normalises with the batch's statistics, torch with the running statistics, "
            "because torch's module is in eval mode",
        ),
        (
            TorchCall(functional.group_norm, (IMAGE, 3), {}, "group_norm"),
            functional.group_norm(IMAGE, 1),
            "there is 1 group, torch uses 3",
        ),
        (
            TorchCall(functional.embedding, (MASK.long(), W), {}, "embedding"),
            W[1 - MASK.long()],
            "the indices 0 and 1 are swapped",
        ),
        (
            TorchCall(functional.leaky_relu, (X, 0.2), {}, "leaky_relu", numbers=(0.01,)),
            functional.leaky_relu(X),
            "negative_slope is 0.01, torch uses 0.2",
        ),
        (
            TorchCall(functional.mse_loss, (X, X * 2), {}, "mse_loss"),
            functional.mse_loss(X, X * 2) / 2,
            "JAX's value is torch's times 1/2",
        ),
        (
            TorchCall(torch.Tensor.masked_fill, (W, CAUSAL, 0.0), {}, "masked_fill"),
            W.masked_fill(CAUSAL.T, 0.0),
            "the mask is transposed",
        ),
        (
            TorchCall(torch.cat, ([X, X + 1], 1), {}, "cat"),
            torch.cat([X + 1, X], 1),
            "the operands of cat are in another order: 1, 0",
        ),
        (
            TorchCall(torch.Tensor.flatten, (IMAGE, 1), {}, "flatten"),
            IMAGE.permute(0, 2, 3, 1).flatten(1),
            "the channels are flattened last, torch flattens them first",
        ),
        (
            TorchCall(torch.Tensor.view, (X, 5, 2, 2), {}, "view"),
            X.view(5, 2, 2).mT,
            "the last axis is split with its two factors exchanged (heads and their size)",
        ),
        (
            TorchCall(torch.Tensor.transpose, (X, 0, 1), {}, "transpose"),
            X.reshape(4, 5),
            "the array is reshaped where torch's transpose moves the axes",
        ),
        (
            TorchCall(torch.Tensor.__getitem__, (X, (slice(None), 0)), {}, "getitem"),
            X[:, -1],
            "index 1 takes the last element, torch the first",
        ),
        (
            TorchCall(torch.Tensor.__getitem__, (X, (PLACES, PLACES - 1)), {}, "getitem"),
            X[PLACES, -1],
            "index 1 takes the last element, torch those in a tensor of indices",
        ),
        (
            TorchCall(torch.Tensor.__getitem__, (X, (PLACES, PLACES - 1)), {}, "getitem"),
            X[PLACES, PLACES],
            "the indices in index 1 are shifted by 1",
        ),
        (
            TorchCall(torch.clamp, (X, -0.5, 0.2), {}, "clamp"),
            X.clamp(-0.2, 0.5),
            "clamp has the minimum -0.2 and the maximum 0.5, torch's has the minimum -0.5 and the "
            "maximum 0.2",
        ),
        (
            TorchCall(torch.clamp, (X,), {"min": 0.1}, "clamp"),
            X.clamp(max=0.1),
            "clamp has the maximum 0.1, torch's has the minimum 0.1",
        ),
        (
            TorchCall(torch.Tensor.mul, (X, 0.25), {}, "mul", numbers=(0.37,)),
            X * 0.37,
            "the number in mul is 0.37, torch uses 0.25",
        ),
        (
            TorchCall(functional.celu, (X,), {"alpha": 0.5}, "celu", numbers=(0.3,)),
            functional.celu(X, alpha=0.3),
            "alpha is 0.3, torch uses 0.5",
        ),
        (
            TorchCall(torch.Tensor.chunk, (X, 2, 1), {}, "chunk"),
            X.chunk(2, 1)[1],
            "the parts of chunk are in another order: 1, 0",
        ),
        (
            TorchCall(functional.mse_loss, (X, X * 2), {}, "mse_loss"),
            functional.mse_loss(X, X * 2, reduction="sum"),
            "the loss is reduced by sum, torch uses mean",
        ),
        (
            TorchCall(torch.repeat_interleave, (X, 2), {"dim": 0}, "repeat_interleave"),
            X.repeat(2, 1),
            "the elements are tiled, torch repeats each one",
        ),
    ],
)
def test_a_mistake_reproduces_its_result(call, expected, mistake):
    """One of the mistakes tried in a torch call reproduces the wrong result."""
    texts = [
        wrong.mistake
        for wrong, x in results(call)
        if x.shape == expected.shape and np.allclose(x, to_numpy(expected), rtol=1e-7, atol=1e-9)
    ]

    assert mistake in texts


def test_mistakes_are_tried_once():
    """Each mistake in a fill value is tried only once."""
    numbers = (-100.0, 1.0, 0.0, -100.0)
    call = TorchCall(torch.Tensor.masked_fill, (X, MASK, 5.0), {}, "masked_fill", numbers=numbers)
    texts = [wrong.mistake for wrong in variants(call)]

    assert len(texts) == len(set(texts))


SDPA: Any = functional.scaled_dot_product_attention
HEADS = torch.randn(3, 2, 4, 5, 8).unbind()  # q, k and v: 2 sequences, 4 heads, 5 tokens
KEEP = torch.ones(5, 5, dtype=torch.bool).tril()
SCORES = (HEADS[0] @ HEADS[1].mT / 8**0.5).masked_fill(~KEEP, float("-inf"))


@pytest.mark.parametrize(
    ("expected", "mistake"),
    [
        (SDPA(HEADS[1], HEADS[0], HEADS[2], is_causal=True), "q and k are swapped"),
        (SDPA(*HEADS), "the attention mask is missing"),
        (SDPA(*HEADS, attn_mask=KEEP.mT), "the mask is transposed"),
        (SDPA(*HEADS, is_causal=True, scale=32**-0.5), "the scale is 1/sqrt(heads * d)"),
        (
            SDPA(*HEADS, attn_mask=KEEP | torch.ones(5, 5, dtype=torch.bool).tril(1)),
            "the mask lets each query see one key more",
        ),
        (
            SDPA(*HEADS, attn_mask=torch.where(KEEP, 0.0, -10.0)),
            "masked scores are lowered by -10",
        ),
        (
            torch.softmax(SCORES, -2) @ HEADS[2],
            "the softmax is over the queries, torch's is over the keys",
        ),
        (
            SDPA(*(x.transpose(1, 2).reshape(x.shape) for x in HEADS), is_causal=True),
            "the heads are split without moving their axis before the sequence",
        ),
    ],
)
def test_a_mistake_in_attention_is_named(expected, mistake):
    """The operands, the mask, the scale, the softmax and the heads of attention are told apart."""
    call = TorchCall(SDPA, HEADS, {"is_causal": True}, "scaled_dot_product_attention",
                     numbers=(-10.0,))  # fmt: skip
    texts = [
        wrong.mistake
        for wrong, x in results(call)
        if x.shape == expected.shape and np.allclose(x, to_numpy(expected), rtol=1e-5, atol=1e-6)
    ]

    assert texts[:1] == [mistake]


def test_only_floating_results_are_compared(monkeypatch):
    """The first of several results counts; a call that fails, or returns another type, does not."""

    def fail() -> Any:
        raise ValueError

    x, ids = torch.ones(2), torch.arange(2)
    outs: list[Any] = [x, ids, 1j * x, (2 * x, ids), [3 * x], (ids, x), (), None, 5.0, np.ones(2)]
    calls = [
        TorchCall(lambda out=out: out, (), {}, "f", InJax(str(n))) for n, out in enumerate(outs)
    ]
    calls.insert(1, TorchCall(fail, (), {}, "f", InJax("raises")))
    monkeypatch.setattr(table, "variants", lambda call: iter(calls))
    found = [(wrong.mistake, out.tolist()) for wrong, out in results(calls[0])]

    assert found == [
        ("0", [1, 1]), ("2", [1j, 1j]), ("3", [2, 2]), ("4", [3, 3])
    ]  # fmt: skip

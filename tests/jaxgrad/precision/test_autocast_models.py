"""Whole models under `jaxgrad.autocast` match torch's dispatch trace operation by operation."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from torch.utils._python_dispatch import TorchDispatchMode

import jaxgrad
from jaxgrad.parity.compare import compare
from jaxgrad.parity.interop import cast, to_numpy


F = torch.nn.functional
SAME = {torch.bfloat16: jnp.bfloat16, torch.float16: jnp.float16}
# Traced operations to ignore: those that move or cast values, and the first half of cross_entropy.
IGNORED = (
    "view _unsafe_view t transpose permute unsqueeze squeeze _to_copy detach empty expand clone"
)
IGNORED += " select split slice stack alias zeros _log_softmax unsafe_split unbind add_ reshape"


class Trace(TorchDispatchMode):
    """Record every operation that torch dispatches, with its first output."""

    def __init__(self) -> None:
        super().__init__()
        self.ops: list[tuple[str, torch.Tensor]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name not in IGNORED.split():
            self.ops.append((name, out[0] if isinstance(out, tuple) else out))
        return out


def draw(*shape: int) -> np.ndarray:
    rng = np.random.default_rng(sum(shape) * 31 + len(shape))
    return rng.normal(size=shape).astype("f") / max(1, shape[-1]) ** 0.5


def torch_mlp(p: Any, x: Any, y: Any) -> Any:
    h = F.relu(F.linear(x, p["w1"], p["b1"]))
    return F.cross_entropy(F.linear(h, p["w2"], p["b2"]), y)


def jax_mlp(p: Any, x: Any, y: Any) -> Any:
    a = x @ p["w1"].T + p["b1"]
    h = jax.nn.relu(a)
    out = h @ p["w2"].T + p["b2"]
    loss = -jnp.take_along_axis(jax.nn.log_softmax(out), y[:, None], 1).mean()
    return loss, [a, h, out, loss]


MLP = {"w1": draw(16, 8), "b1": draw(16), "w2": draw(5, 16), "b2": draw(5)}


def torch_conv(p: Any, x: Any, y: Any) -> Any:
    h = F.conv2d(x, p["w1"], padding=1)
    h = F.relu(F.batch_norm(h, None, None, p["g"], p["c"], training=True))
    h = F.gelu(F.conv2d(F.avg_pool2d(h, 2), p["w2"], p["b2"]))
    h = F.max_pool2d(h, 2).mean((2, 3))
    return F.mse_loss(F.linear(h, p["w3"], p["b3"]), y)


def jax_conv(p: Any, x: Any, y: Any) -> Any:
    a = lax.conv(x, p["w1"], (1, 1), "SAME")
    m, v = a.mean((0, 2, 3), keepdims=True), a.var((0, 2, 3), keepdims=True)
    n = (a - m) / jnp.sqrt(v + 1e-5) * p["g"][:, None, None] + p["c"][:, None, None]
    h = jax.nn.relu(n)
    window = (1, 1, 2, 2)
    pooled = lax.reduce_window(h, 0.0, lax.add, window, window, "VALID") / 4
    b = lax.conv(pooled, p["w2"], (1, 1), "VALID") + p["b2"][:, None, None]
    g = jax.nn.gelu(b, approximate=False)
    top = lax.reduce_window(g, -jnp.inf, lax.max, window, window, "VALID")
    s = top.mean((2, 3))
    out = s @ p["w3"].T + p["b3"]
    loss = jnp.mean((out - y) ** 2)
    return loss, [a, n, h, pooled, b, g, top, s, out, loss]


CONV = {"w1": draw(6, 3, 3, 3), "g": 1 + draw(6), "c": draw(6)}
CONV |= {"w2": draw(4, 6, 3, 3), "b2": draw(4), "w3": draw(2, 4), "b3": draw(2)}


def torch_block(p: Any, x: Any, y: Any) -> Any:
    h = F.layer_norm(x, (8,), p["g1"], p["c1"])
    q, k, v = (F.linear(h, p[w], p["b" + w]) for w in "qkv")
    a = ((q @ k.mT) * 8**-0.5).softmax(-1) @ v
    x = x + F.linear(a, p["o"], p["bo"])
    h = F.layer_norm(x, (8,), p["g2"], p["c2"])
    x = x + F.linear(F.gelu(F.linear(h, p["u"], p["bu"]), approximate="tanh"), p["d"], p["bd"])
    return F.cross_entropy(F.linear(x, p["head"]).mT, y)


def layer_norm(x: Any, scale: Any, bias: Any) -> Any:
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(var + 1e-5) * scale + bias


def jax_block(p: Any, x: Any, y: Any) -> Any:
    n1 = layer_norm(x, p["g1"], p["c1"])
    q, k, v = (n1 @ p[w].T + p["b" + w] for w in "qkv")
    s = q @ k.mT
    z = s * 8**-0.5
    m = jax.nn.softmax(z)
    a = m @ v
    o = a @ p["o"].T + p["bo"]
    r = x + o
    n2 = layer_norm(r, p["g2"], p["c2"])
    u = n2 @ p["u"].T + p["bu"]
    g = jax.nn.gelu(u)
    d = g @ p["d"].T + p["bd"]
    t = r + d
    out = t @ p["head"].T
    picked = jnp.take_along_axis(jax.nn.log_softmax(out), y[..., None], -1)
    loss = -picked.mean()
    return loss, [n1, q, k, v, s, z, m, a, o, r, n2, u, g, d, t, out, loss]


BLOCK = {w: draw(8, 8) for w in "qkvo"} | {"b" + w: draw(8) for w in "qkvoud"}
BLOCK |= {"u": draw(16, 8), "bu": draw(16), "d": draw(8, 16), "head": draw(5, 8)}
BLOCK |= {"g1": 1 + draw(8), "c1": draw(8), "g2": 1 - draw(8), "c2": draw(8)}


def torch_gru(p: Any, x: Any, y: Any) -> Any:
    h = torch.zeros(x.shape[1], 8, dtype=x.dtype)
    for row in x:
        a, b = F.linear(row, p["i"], p["bi"]), F.linear(h, p["h"], p["bh"])
        (ar, az, an), (br, bz, bn) = a.chunk(3, -1), b.chunk(3, -1)
        r, z = torch.sigmoid(ar + br), torch.sigmoid(az + bz)
        n = torch.tanh(an + r * bn)
        h = (1 - z) * n + z * h
    return F.mse_loss(F.linear(h, p["o"], p["bo"]), y)


def jax_gru(p: Any, x: Any, y: Any) -> Any:
    def cell(h: Any, row: Any) -> Any:
        a, b = row @ p["i"].T + p["bi"], h @ p["h"].T + p["bh"]
        (ar, az, an), (br, bz, bn) = jnp.split(a, 3, -1), jnp.split(b, 3, -1)
        sr, sz = ar + br, az + bz
        r, z = jax.nn.sigmoid(sr), jax.nn.sigmoid(sz)
        rb = r * bn
        s = an + rb
        n = jnp.tanh(s)
        m, e, k = 1 - z, None, z * h
        e = m * n
        new = e + k
        return new, [a, b, sr, r, sz, z, rb, s, n, m, e, k, new]

    h, values = lax.scan(cell, jnp.zeros((x.shape[1], 8), x.dtype), x)
    out = h @ p["o"].T + p["bo"]
    loss = jnp.mean((out - y) ** 2)
    return loss, [*(one[i] for i in range(x.shape[0]) for one in values), out, loss]


GRU = {"i": draw(24, 5), "bi": draw(24), "h": draw(24, 8), "bh": draw(24)}
GRU |= {"o": draw(2, 8), "bo": draw(2)}

LABELS = np.arange(12).reshape(2, 6) % 5
MODELS: dict[str, Any] = {
    "mlp": (torch_mlp, jax_mlp, MLP, draw(7, 8), np.arange(7) % 5),
    "conv net": (torch_conv, jax_conv, CONV, draw(4, 3, 8, 8), draw(4, 2)),
    "transformer block": (torch_block, jax_block, BLOCK, draw(2, 6, 8), LABELS),
    "gru in scan": (torch_gru, jax_gru, GRU, draw(4, 3, 5), draw(3, 2)),
}  # fmt: skip


def run_torch(program: Any, p: Any, x: Any, y: Any, low: Any) -> Any:
    """Return the operations and gradients under autocast, or in float64 if `low` is None."""
    as_tensor = lambda a: torch.tensor(a, dtype=torch.float64 if low is None else None)  # noqa: E731
    p = {k: as_tensor(v).requires_grad_() for k, v in p.items()}
    x, y = as_tensor(x), torch.tensor(y) if y.dtype.kind == "i" else as_tensor(y)
    on = torch.autocast("cpu", dtype=low or torch.bfloat16, enabled=low is not None)
    with on, Trace() as trace:
        loss = program(p, x, y)
    loss.backward()
    return trace.ops, {k: v.grad for k, v in p.items()}


@pytest.mark.sampled(9)
@pytest.mark.parametrize(
    ("model", "dtype", "jit"),
    list(itertools.product(MODELS, ["bfloat16", "float16"], [False, True])),
)
def test_every_operation_and_gradient(model: str, dtype: str, jit: bool) -> None:
    """Every operation and every gradient has torch's dtype and value."""
    low = getattr(torch, dtype)
    theirs, ours, p, x, y = MODELS[model]
    ops, grads = run_torch(theirs, p, x, y, low)
    exact, exact_grads = run_torch(theirs, p, x, y, None)
    nudged = [run_torch(theirs, p, x * (1 + s * 2.0**-22), y, low) for s in (-1, 1)]

    run = jaxgrad.value_and_grad(jaxgrad.autocast(ours, SAME[low]), has_aux=True)
    args = jax.tree.map(jnp.asarray, (p, x, y))
    (_, outputs), jax_grads = (jax.jit(run) if jit else run)(*args)

    names = [f"{i} {name}" for i, (name, _) in enumerate(ops)]
    assert [str(v.dtype) for v in outputs] == [str(v.dtype)[6:] for _, v in ops], names
    assert {v.dtype for v in jax_grads.values()} == {jnp.dtype("float32")}
    assert all(v.dtype == torch.float32 for v in grads.values())
    # torch dispatches a batch of matrices as one matrix.
    outputs = [v.reshape(t.shape) for v, (_, t) in zip(outputs, ops, strict=True)]

    def tree(ops: list[Any], grads: Any) -> Any:
        return to_numpy({"ops": dict(zip(names, ops, strict=True)), "grads": grads})

    def values(ops: list[Any], grads: Any) -> Any:
        """Cast every value to low precision, even float32 values computed from low precision."""
        return cast(tree(ops, grads), str(low)[6:])

    first, *reruns = (values([v for _, v in o], g) for o, g in ((ops, grads), *nudged))
    oracle = tree([v for _, v in exact], exact_grads)
    result = compare(first, values(outputs, jax_grads), oracle=oracle, reruns=reruns)
    assert result.verdict in ("bitwise", "close"), result.text

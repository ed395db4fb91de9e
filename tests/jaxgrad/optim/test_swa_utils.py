"""`jaxgrad.optim.swa_utils` matches `torch.optim.swa_utils`."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch.optim import swa_utils as torch_swa

from jaxgrad.optim import lr_scheduler, swa_utils
from jaxgrad.parity.interop import to_jax, to_numpy


FUNCTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "default": ({}, {}),
    "mean": (
        dict(avg_fn=torch_swa.get_swa_avg_fn()),
        dict(avg_fn=swa_utils.get_swa_avg_fn()),
    ),
    "moving": (
        dict(avg_fn=torch_swa.get_ema_avg_fn(0.9)),
        dict(avg_fn=swa_utils.get_ema_avg_fn(0.9)),
    ),
    "mean of all": (
        dict(multi_avg_fn=torch_swa.get_swa_multi_avg_fn()),
        dict(multi_avg_fn=swa_utils.get_swa_multi_avg_fn()),
    ),
    "moving of all": (
        dict(multi_avg_fn=torch_swa.get_ema_multi_avg_fn(0.3)),
        dict(multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.3)),
    ),
    "custom": (
        dict(avg_fn=lambda averaged, current, n: averaged * 0.5 + current / (n + 2)),
        dict(avg_fn=lambda averaged, current, n: averaged * 0.5 + current / (n + 2)),
    ),
}


class Net(torch.nn.Module):
    def __init__(self, dtype: torch.dtype, counter: bool) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(4, 3, dtype=dtype))
        self.b = torch.nn.Parameter(torch.zeros(3, dtype=torch.float64))
        self.register_buffer("mean", torch.zeros(3, dtype=dtype))
        if counter:
            self.register_buffer("count", torch.tensor(0))


def trees(net: torch.nn.Module) -> tuple[Any, Any]:
    params = {name: to_numpy(p.detach()) for name, p in net.named_parameters()}
    return params, {name: to_numpy(b) for name, b in net.named_buffers()}


DTYPES = ("float64", "float32", "bfloat16")


@pytest.mark.sampled(15)
@pytest.mark.parametrize(
    ("name", "dtype", "use_buffers", "mode"),
    list(itertools.product(FUNCTIONS, DTYPES, (False, True), ("eager", "scan"))),
)
def test_averages(name, dtype, use_buffers, mode):
    """Averages of parameters and buffers match torch's after each of 12 updates."""
    theirs_fn, ours_fn = FUNCTIONS[name]
    counter = not (use_buffers and name in ("mean of all", "custom"))
    rng = np.random.default_rng(0)
    net = Net(getattr(torch, dtype), counter)
    theirs = torch_swa.AveragedModel(net, use_buffers=use_buffers, **theirs_fn)
    ours = swa_utils.averaged_model(use_buffers=use_buffers, **ours_fn)
    state = ours.init(*to_jax(trees(net)))
    models, expected = [], []
    for i in range(12):
        for x in (*net.parameters(), *net.buffers()):
            x.data = torch.as_tensor(rng.normal(size=x.shape) * 3 + 2 * i).to(x.dtype)
        theirs.update_parameters(net)
        models.append(to_jax(trees(net)))
        expected.append((int(theirs.n_averaged), *trees(theirs.module)))

    if mode == "eager":
        results = []
        for params, buffers in models:
            state = ours.update(state, params, buffers)
            results.append(state)
    else:
        stacked = jax.tree.map(lambda *x: jnp.stack(x), *models)

        def step(state, new):
            state = ours.update(state, *new)
            return state, state

        _, states = jax.lax.scan(step, state, stacked)
        results = [jax.tree.map(lambda x, i=i: x[i], states) for i in range(12)]
    for left, right in zip(expected, results, strict=True):
        assert left[0] == right.n_averaged
        for a, b in zip(jax.tree.leaves(left[1:]), jax.tree.leaves(tuple(right)[1:]), strict=True):
            assert (a.dtype, a.shape) == (b.dtype, b.shape)
            eps = float(jnp.finfo(a.dtype).eps) if a.dtype.kind in "fV" else 0.0
            wide, result_wide = a.astype(np.float64), np.asarray(b, np.float64)
            np.testing.assert_allclose(result_wide, wide, rtol=0, atol=4 * eps * np.abs(wide).max())


def test_none_in_the_tree():
    """None in the parameter tree stays None, and the first update copies the model."""
    ours = swa_utils.averaged_model()
    state = ours.update(ours.init({"w": jnp.zeros(2), "v": None}), {"w": jnp.ones(2), "v": None})
    assert state.module["v"] is None and (state.module["w"] == 1).all() and state.n_averaged == 1


def test_multi_avg_fn_rejects_integers():
    """`get_swa_multi_avg_fn` rejects integers as torch does, and names an alternative."""
    net = Net(torch.float32, counter=True)
    theirs = torch_swa.AveragedModel(
        net, multi_avg_fn=torch_swa.get_swa_multi_avg_fn(), use_buffers=True
    )
    theirs.update_parameters(net)
    with pytest.raises(RuntimeError, match="Integer division with addcdiv is no longer supported"):
        theirs.update_parameters(net)
    ours = swa_utils.averaged_model(multi_avg_fn=swa_utils.get_swa_multi_avg_fn())
    with pytest.raises(TypeError, match="no longer supported: a leaf is int.*use get_swa_avg_fn"):
        ours.update(ours.init(jnp.array([1])), jnp.array([2]))


@pytest.mark.parametrize("name", ("get_ema_avg_fn", "get_ema_multi_avg_fn"))
@pytest.mark.parametrize("decay", (-0.1, 1.5))
def test_invalid_decay(name, decay):
    """A decay outside [0, 1] raises torch's message with the value."""
    words = f"Invalid decay value {decay} provided. Please provide a value in"
    for module in (torch_swa, swa_utils):
        with pytest.raises(ValueError, match=words):
            getattr(module, name)(decay)


def test_two_functions():
    """Passing both averaging functions raises torch's message and names both."""
    words = "Only one of avg_fn and multi_avg_fn should be provided"
    both: dict[str, Any] = dict(avg_fn=max, multi_avg_fn=min)
    with pytest.raises(AssertionError, match=words):
        torch_swa.AveragedModel(torch.nn.Linear(1, 1), **both)
    with pytest.raises(ValueError, match=words + r", got avg_fn=.*max.* and multi_avg_fn=.*min"):
        swa_utils.averaged_model(**both)


@pytest.mark.parametrize("decay, averaged, current", [(0.0, 1e8, 1.0), (1.0, 1.0, 1e8)])
def test_extreme_decays(decay, averaged, current):
    """With a decay of 0 or 1 the unused value leaves no rounding error, however large it is."""
    theirs = torch.tensor([averaged])
    torch_swa.get_ema_multi_avg_fn(decay)([theirs], [torch.tensor([current])], 1)
    a, b = (jnp.full(1, x, "float32") for x in (averaged, current))
    (average,) = swa_utils.get_ema_multi_avg_fn(decay)([a], [b], jnp.asarray(1))

    assert average == theirs.item() == 1


def test_update_bn():
    """With two batch norms, each running statistic is the mean over the batches."""
    torch.manual_seed(0)
    norms = [torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(2)]
    middle = torch.nn.Linear(3, 2)
    model = torch.nn.Sequential(norms[0], middle, norms[1]).double()
    loader = [torch.randn(5, 3, dtype=torch.float64) * i for i in range(1, 5)]
    torch_swa.update_bn([[x] for x in loader], model)
    weight, bias = to_jax(to_numpy([middle.weight.detach(), middle.bias.detach()]))

    def statistics(x):
        def of(x):
            return {"mean": x.mean(0), "var": x.var(0, ddof=1)}

        x = to_jax(to_numpy(x))
        h = (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-5)
        return [of(x), of(h @ weight.T + bias)]

    results = swa_utils.update_bn([(x,) for x in loader], statistics)
    for norm, stats in zip(norms, results, strict=True):
        np.testing.assert_allclose(stats["mean"], to_numpy(norm.running_mean), rtol=1e-13)
        np.testing.assert_allclose(stats["var"], to_numpy(norm.running_var), rtol=1e-13)
    with pytest.raises(ValueError, match="at least one batch, got an empty loader"):
        swa_utils.update_bn([], statistics)


def test_swalr_is_exported():
    """As in torch, `swa_utils` exports SWALR."""
    assert swa_utils.swalr is lr_scheduler.swalr


def test_averages_in_another_order_are_refused():
    """A list in torch's order has the wrong shapes in JAX's, in which `bias` comes first."""
    params = {"weight": jnp.ones((2, 3)), "bias": jnp.ones(3)}
    model = swa_utils.averaged_model(multi_avg_fn=lambda olds, news, n: news[::-1])
    text = (
        r"average of shape \(2, 3\) for the leaf 'bias', which has \(3,\): return the averages in"
    )
    with pytest.raises(ValueError, match=text):
        model.update(model.init(params), params)
    model = swa_utils.averaged_model(multi_avg_fn=lambda olds, news, n: news[1:])
    text = "returned 1 averages for 2 leaves: .* in this order. The paths are 'bias', 'weight'"
    with pytest.raises(ValueError, match=text):
        model.update(model.init(params), params)
    model = swa_utils.averaged_model(avg_fn=lambda old, new, n: jnp.sum(new))
    with pytest.raises(ValueError, match=r"^avg_fn returned an average of shape \(\) for the leaf"):
        model.update(model.init(params), params)

"""Buffers that a forward pass updates are compared with the state that a port holds or returns."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from flax import linen, nnx
from torch import Tensor, nn

import jaxgrad.functional
from jaxgrad.parity import Report, prove
from tests.jaxgrad.parity.prove._helpers import arrays, draw


X = draw(6, 3)


def torch_norm() -> nn.BatchNorm1d:
    torch.manual_seed(0)
    module = nn.BatchNorm1d(3)
    nn.init.normal_(module.weight)
    nn.init.normal_(module.bias)
    return module


class Norm(nnx.Module):
    """A batch norm with torch's unbiased running variance, or with flax's biased one."""

    def __init__(self, module: nn.BatchNorm1d, momentum: float = 0.1, ddof: int = 1):
        state = arrays(module)
        self.weight, self.bias = nnx.Param(state["weight"]), nnx.Param(state["bias"])
        self.mean = nnx.BatchStat(state["running_mean"])
        self.var = nnx.BatchStat(state["running_var"])
        self.momentum, self.ddof = momentum, ddof

    def __call__(self, x: Any) -> Any:
        mean, rate = x.mean(0), self.momentum
        self.mean[...] = (1 - rate) * self.mean[...] + rate * mean
        self.var[...] = (1 - rate) * self.var[...] + rate * x.var(0, ddof=self.ddof)
        return (x - mean) / jnp.sqrt(x.var(0) + 1e-5) * self.weight[...] + self.bias[...]


def failed(report: Report) -> tuple[str, str]:
    assert report.first is not None
    return report.first.surface, report.first.torch


@pytest.mark.sampled(2)
@pytest.mark.parametrize("asked", [False, True])
def test_the_state_of_an_nnx_module_is_compared_unasked(asked):
    """The running statistics that an nnx module holds are compared, with and without has_state."""
    module = torch_norm()

    right = prove(module, Norm(module), None, (X,), has_state=asked)
    assert right.verdict == "pass"
    text = right.surfaces["updates"].text
    assert text.startswith("2 buffer updates agree") and text.endswith(
        "; no training step was compared, because no optimizer= was given"
    )

    wrong = prove(module, Norm(module, momentum=0.2), None, (X,), has_state=asked)
    assert failed(wrong) == ("updates", "running_mean")
    biased = prove(module, Norm(module, ddof=0), None, (X,), has_state=asked)
    assert failed(biased) == ("updates", "running_var")
    assert biased.first is not None and "divided by N = 6" in biased.first.cause


def test_the_state_of_a_linen_module_is_compared_unasked():
    """The collections of a linen module beside its params are mutable and are compared."""
    module = torch_norm()
    state = arrays(module)
    variables = {
        "params": {"scale": state["weight"], "bias": state["bias"]},
        "batch_stats": {"mean": state["running_mean"], "var": state["running_var"]},
    }
    port = linen.BatchNorm(use_running_average=False, momentum=0.9, epsilon=1e-5)

    report = prove(module, port, variables, (X,))
    assert failed(report) == ("updates", "running_var")
    assert [row["verdict"] for row in report.surfaces["updates"].rows] == ["pass", "fail"]


def function(p: Any, x: Any) -> Any:
    y = (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-5)
    return y * p["weight"] + p["bias"]


def test_a_port_without_state_fails():
    """A port that returns no state fails if torch's forward pass changes buffers."""
    module = torch_norm()
    params = {name: arrays(module)[name] for name in ("weight", "bias")}

    report = prove(module, function, params, (X,))
    assert failed(report) == ("updates", "running_mean")
    text = str(report.first)
    assert "torch's forward pass changes the buffer, and fn returns no new state" in text
    assert "let fn return (outputs, new_state) and pass has_state=True" in text
    assert report.first is not None
    mean = 0.1 * X.mean(0, dtype=np.float64)[report.first.index[0]]
    assert (report.first.torch_value, report.first.jax_value) == (pytest.approx(mean), 0.0)


def test_a_state_that_lacks_a_leaf_fails_with_the_nearest_paths():
    """The finding names the buffer, both values and the leaves that the port returns."""
    module = torch_norm()

    def port(p: Any, x: Any) -> Any:
        return function(p, x), {"mean": 0.9 * p["running_mean"] + 0.1 * x.mean(0)}

    report = prove(module, port, arrays(module), (X,), has_state=True)
    assert failed(report) == ("updates", "running_var")
    text = "the buffer, and the new state has no leaf for it. The paths are 'mean'"
    assert report.first is not None and text in report.first.text
    assert [row["verdict"] for row in report.surfaces["updates"].rows] == ["pass", "fail"]


def test_running_statistics_of_stacked_layers_are_compared():
    """A leaf that stacks the statistics of several layers is split into one per layer."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.BatchNorm1d(3, affine=False), nn.BatchNorm1d(3, affine=False))
    for name, x in module.named_buffers():
        if x.dtype.is_floating_point:
            x.copy_(torch.rand(3) + ("var" in name))
    state = arrays(module)

    def convert(s: Any) -> Any:
        return {k: jnp.stack([jnp.asarray(s[f"{n}.running_{k}"]) for n in range(2)])
                for k in ("mean", "var")}  # fmt: skip

    def port(p: Any, x: Any, rate: float = 0.1) -> Any:
        means, variances = [], []
        for n in range(2):
            means.append((1 - rate) * p["mean"][n] + rate * x.mean(0))
            variances.append((1 - rate) * p["var"][n] + rate * x.var(0, ddof=1))
            x = (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-5)
        return x, {"mean": jnp.stack(means), "var": jnp.stack(variances)}

    def wrong(p: Any, x: Any) -> Any:
        y, new = port(p, x)
        return y, {**new, "var": new["var"].at[1].set(p["var"][1])}

    reports = [prove(module, fn, convert(state), (X,), weights=convert, has_state=True)
               for fn in (port, wrong)]  # fmt: skip
    assert reports[0].surfaces["updates"].text.startswith("4 buffer updates agree"), reports[0]
    assert failed(reports[1]) == ("updates", "1.running_var")


def test_a_waiver_accepts_buffers_that_a_port_does_not_return():
    """`accept=` waives the comparison of running statistics, with a reason."""
    module = torch_norm()
    params = {name: arrays(module)[name] for name in ("weight", "bias")}
    accept = {"updates": {"running_*": "the model is never run in eval mode"}}

    report = prove(module, function, params, (X,), accept=accept)
    assert report.verdict == "pass", report
    assert any("never run in eval mode" in note for note in report.notes)


def test_unchanged_buffers_are_not_mentioned():
    """A module in eval mode changes no buffer, so the report mentions none."""
    module = torch_norm().eval()

    class Still(Norm):
        def __call__(self, x: Any) -> Any:
            y = (x - self.mean[...]) / jnp.sqrt(self.var[...] + 1e-5)
            return y * self.weight[...] + self.bias[...]

    report = prove(module, Still(module), None, (X,))
    assert report.verdict == "pass"
    assert report.surfaces["updates"].verdict == "not judged"
    assert not any("buffers" in note for note in report.notes)


def test_a_pair_of_a_function_is_preferred_to_the_state_of_its_module():
    """A function of an nnx module that returns (outputs, new_state) is judged by that state."""
    module = torch_norm()

    def port(norm: Norm, x: Any) -> Any:
        outputs = norm(x)
        return outputs, {"running_mean": norm.mean[...], "running_var": 2 * norm.var[...]}

    report = prove(module, port, Norm(module), (X,), has_state=True)  # pyright: ignore[reportArgumentType]
    assert failed(report) == ("updates", "running_var")
    assert np.isclose(float(report.surfaces["updates"].rows[0]["difference"]), 0, atol=1e-9)


class Centred(nn.Module):
    """Subtract a running mean and scale the result."""

    mean: torch.Tensor

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([2.0, 3.0, 5.0]))
        self.register_buffer("mean", torch.tensor([0.1, 0.2, 0.4]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.scale * (x - self.mean.clone())
        self.mean.mul_(0.9).add_(x.detach().mean(0), alpha=0.1)
        return out


class EquinoxCentred(eqx.Module):
    """`Centred` in equinox, which takes and returns the mean as a state."""

    scale: Any
    index: eqx.nn.StateIndex

    def __init__(self):
        state = arrays(Centred())
        self.scale = jnp.asarray(state["scale"])
        self.index = eqx.nn.StateIndex((jnp.asarray(0), jnp.asarray(state["mean"])))

    def __call__(self, x: Any, state: eqx.nn.State, rate: float = 0.1) -> Any:
        count, mean = state.get(self.index)
        new = count + 1, (1 - rate) * mean + rate * x.mean(0)
        return self.scale * (x - mean), state.set(self.index, new)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("asked", [True, False])
def test_the_state_of_equinox_is_compared(asked):
    """A state that fn returns beside its outputs is compared, with has_state= or without."""
    params = eqx.nn.make_with_state(EquinoxCentred)()

    def port(params: Any, x: Any, rate: float = 0.1) -> Any:
        model, state = params
        return model(x, state, rate)

    def wrong(params: Any, x: Any) -> Any:
        return port(params, x, 0.2)

    reports = [prove(Centred(), fn, params, (X,), has_state=asked) for fn in (port, wrong)]

    assert reports[0].verdict == "pass", reports[0]
    assert reports[0].surfaces["updates"].text.startswith("1 buffer update agrees")
    assert failed(reports[1])[0] == "updates" and "new value of mean" in str(reports[1])


def test_an_equinox_module_with_state_needs_a_function():
    """A module that takes its state as an argument raises an error that says what to write."""
    module, state = eqx.nn.make_with_state(EquinoxCentred)()

    for report in (prove(Centred(), module, None, (X,)), prove(Centred(), module, state, (X,))):
        assert "takes its state as an argument: pass params=(module, state)" in str(report)


class TwoNorms(nn.Module):
    """Two running means whose paths, `norm.mean` and `inner.norm.mean`, end alike."""

    def __init__(self):
        super().__init__()
        self.norm, self.inner = Centred(), nn.ModuleDict({"norm": Centred()})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner["norm"](self.norm(x) * 2)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rate, verdict", [(0.1, "pass"), (0.2, "fail")])
def test_a_path_that_ends_another_path_names_its_own_leaf(rate, verdict):
    """The leaf `norm/mean` of the new state is not mistaken for `inner/norm/mean`."""
    module = TwoNorms()
    params = {"norm": arrays(Centred()), "inner": {"norm": arrays(Centred())}}

    def centred(p: Any, x: Any, rate: float) -> Any:
        new = {**p, "mean": (1 - rate) * p["mean"] + rate * x.mean(0)}
        return p["scale"] * (x - p["mean"]), new

    def port(p: Any, x: Any) -> Any:
        x, norm = centred(p["norm"], x, 0.1)
        x, inner = centred(p["inner"]["norm"], x * 2, rate)
        return x, {"norm": norm, "inner": {"norm": inner}}

    report = prove(module, port, params, (X,), has_state=True)
    assert report.verdict == verdict
    assert rate == 0.1 or failed(report) == ("updates", "inner.norm.mean")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rate, verdict", [(0.1, "pass"), (0.2, "fail")])
def test_a_port_may_return_all_of_its_params_as_the_state(rate, verdict):
    """The optimizer's new weights are kept where the state contains the weights before the step."""
    optimizer = (lambda params: torch.optim.SGD(params, lr=0.1), optax.sgd(rate))

    def port(p: Any, x: Any) -> Any:
        return p["scale"] * (x - p["mean"]), {**p, "mean": 0.9 * p["mean"] + 0.1 * x.mean(0)}

    report = prove(Centred(), port, arrays(Centred()), (X,), has_state=True, optimizer=optimizer,
                   trainable={"scale": True, "mean": False}, steps=2)  # fmt: skip
    assert report.verdict == verdict
    assert rate == 0.1 or failed(report) == ("updates", "scale")


class TorchBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.bn = nn.Linear(4, 4), nn.BatchNorm1d(4)

    def forward(self, x):
        return torch.relu(self.bn(self.fc(x)))


class EquinoxBlock(eqx.Module):
    fc: eqx.nn.Linear
    bn: eqx.nn.BatchNorm

    def __init__(self, key: Any):
        self.fc = eqx.nn.Linear(4, 4, key=key)
        self.bn = eqx.nn.BatchNorm(4, "batch", momentum=0.9, eps=1e-5, mode="batch")

    def __call__(self, x: Any, state: Any) -> Any:
        h, state = self.bn(self.fc(x), state)
        return jax.nn.relu(h), state


class EquinoxBlocks(eqx.Module):
    blocks: list[EquinoxBlock]

    def __init__(self, key: Any):
        self.blocks = [EquinoxBlock(k) for k in jax.random.split(key)]

    def __call__(self, x: Any, state: Any) -> Any:
        for block in self.blocks:
            x, state = block(x, state)
        return x, state


def test_the_batch_norms_of_an_equinox_list_are_paired_by_their_values():
    """The port's state is a flat list, so the indices in its paths are not those of the blocks."""
    torch.manual_seed(0)
    module = nn.Sequential(TorchBlock(), TorchBlock())
    port, state = eqx.nn.make_with_state(EquinoxBlocks)(jax.random.key(0))
    for i, block in enumerate(module):
        values = [jnp.asarray(x.detach().numpy()) for x in block.fc.parameters()]  # pyright: ignore[reportAttributeAccessIssue]
        at: Any = lambda m, i=i: [m.blocks[i].fc.weight, m.blocks[i].fc.bias]  # noqa: E731
        port = eqx.tree_at(at, port, values)

    def run(m: Any, x: Any) -> Any:
        return jax.vmap(m, (0, None), (0, None), axis_name="batch")(x, state)

    report = prove(module, run, port, (draw(8, 4),), has_state=True)
    verdicts = {row["name"]: row["verdict"] for row in report.surfaces["updates"].rows}
    assert verdicts == {
        "0.bn.running_mean": "pass", "0.bn.running_var": "fail",
        "1.bn.running_mean": "pass", "1.bn.running_var": "fail",
    }  # fmt: skip
    assert report.first is not None and "the variance is divided by N = 8" in report.first.cause


def test_a_leaf_that_nothing_decides_is_not_guessed():
    """If all leaves of the state are equal and constant, none is paired with a buffer."""
    module = torch_norm()
    state = arrays(module)
    params = {name: state[name] for name in ("weight", "bias")}

    def still(p: Any, x: Any) -> Any:
        return function(p, x), [jnp.ones(3), jnp.ones(3)]

    report = prove(module, still, params, (X,), has_state=True)
    assert failed(report) == ("updates", "running_mean")
    assert report.first is not None and report.first.text == (
        "torch's forward pass changes the buffer, and no leaf of the new state has its new value. "
        "Neither names nor values tell which of 0, 1 should have it: return the new state as a "
        "dict with torch's names"
    )


def ema(mode: Any) -> tuple[Any, Any]:
    """Return a batch norm of equinox that takes its state with its params."""

    def make() -> Any:
        return eqx.nn.BatchNorm(6, "b", mode=mode, momentum=0.9)

    def port(p: Any, x: Any) -> Any:
        return jax.vmap(p[0], (0, None), (0, None), axis_name="b")(x, p[1])

    return port, eqx.nn.make_with_state(make)()


def test_a_state_that_starts_from_zeros_is_compared():
    """The running variance of equinox's `ema` mode starts from 0, and torch's from 1."""
    report = prove(nn.BatchNorm1d(6), *ema("ema"), (draw(8, 6),), has_state=True)
    assert failed(report) == ("updates", "running_mean")
    assert report.first is not None and "is off by 9 " in report.first.text
    assert any("1/1/1 holds no tensor of torch's state dict" in note for note in report.notes)


class Total(nn.Module):
    total: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([2.0, 3.0]))
        self.register_buffer("total", torch.tensor(3.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x.detach().sum())
        return self.scale * x


def test_the_error_about_a_leaf_of_the_state_names_has_state():
    """A state that starts from 0 in the port is a leaf without a tensor unless fn returns it."""

    def port(p: Any, x: Any) -> Any:
        return p["scale"] * x, {"total": p["total"] + x.sum()}

    params = {"scale": np.array([2.0, 3.0]), "total": np.zeros(())}
    text = str(prove(Total(), port, params, (X[:, :2],)))
    assert "'total' [] holds no torch tensor" in text
    assert "fn returns a pair: if it is (outputs, new_state), pass has_state=True" in text
    report = prove(Total(), port, params, (X[:, :2],), has_state=True)
    assert failed(report)[0] == "updates" and "new value of total" in str(report)
    without = prove(Total(), lambda p, x: p["scale"] * x, params, (X[:, :2],))
    assert failed(without) == ("updates", "total")
    assert "let fn return (outputs, new_state) and pass has_state=True" in str(without)


class Scaled(nn.Module):
    """A batch norm and a scalar parameter, which the forward pass leaves as it is."""

    def __init__(self):
        super().__init__()
        self.norm, self.scale = nn.BatchNorm1d(3), nn.Parameter(torch.tensor(2.0))

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x) * self.scale


@pytest.mark.parametrize("change", [0.0, 0.5])
def test_a_scalar_parameter_may_be_part_of_the_new_state(change):
    """The port returns all of its params with the new statistics, as a written port does."""

    def port(p: Any, x: Any) -> Any:
        names = ("running_mean", "running_var", "weight", "bias")
        stats = (p[f"norm.{name}"] for name in names)
        y, mean, var = jaxgrad.functional.batch_norm(x, *stats, training=True)
        new = {"norm.running_mean": mean, "norm.running_var": var, "scale": p["scale"] + change}
        return y * p["scale"], p | new

    report = prove(Scaled(), port, arrays(Scaled()), (draw(5, 3),), has_state=True)
    assert report.verdict == ("fail" if change else "pass"), report
    if change:
        assert failed(report) == ("updates", "scale")

"""Wrong running statistics are explained by a rule of update with which torch was run again."""

from collections import OrderedDict
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import nnx
from torch import nn

import jaxgrad.nnx
from jaxgrad.parity import Report, dump, prove
from tests.jaxgrad.parity.prove._helpers import arrays, draw


X, Y = draw(6, 3), draw(7, 3)
TESTED = " (rerunning torch with this change reproduces JAX's updates)"
PART = "flax and optax count the part that stays: 0.9 is torch's 0.1"
MOMENTUM = f"the momentum is {{}}, torch uses 0.1 ({PART})"
BIASED = "the variance is divided by N = 6, torch's running variance by N - 1"
INVERTED = "the momentum is inverted: torch uses 0.1, JAX uses 0.9"


class Twice(nn.Module):
    """A network of two views, which calls its batch norm once for each."""

    def __init__(self):
        super().__init__()
        self.norm, self.out = nn.BatchNorm1d(3), nn.Linear(3, 2)

    def forward(self, x, y):
        return self.out(self.norm(x).tanh()), self.out(self.norm(y).tanh())


def port(momenta: Any, ddof: int) -> Any:
    """Return a port of a net whose norms have these momenta; each is called once for each input."""

    def apply(p: Any, *inputs: Any) -> Any:
        state = dict(p)

        def norm(name: str, x: Any) -> Any:
            mean, var, rate = x.mean(0), x.var(0), momenta[name]
            for key, new in (("mean", mean), ("var", x.var(0, ddof=ddof))):
                old = state[f"{name}.running_{key}"]
                state[f"{name}.running_{key}"] = (1 - rate) * old + rate * new
            normal = (x - mean) / jnp.sqrt(var + 1e-5)
            return normal * p[f"{name}.weight"] + p[f"{name}.bias"]

        outputs = []
        for given in inputs:
            x = given
            for name in momenta:
                x = jnp.tanh(norm(name, x))
            outputs.append(x @ p["out.weight"].T + p["out.bias"])
        return (tuple(outputs) if len(outputs) > 1 else outputs[0]), state

    return apply


def report(module: nn.Module, momenta: Any, ddof: int, *inputs: Any) -> Report:
    return prove(module, port(momenta, ddof), arrays(module), inputs, has_state=True)


@pytest.mark.parametrize(
    ("momentum", "ddof", "name", "cause"),
    [
        (0.9, 1, "norm.running_mean", INVERTED),
        (0.01, 1, "norm.running_mean", MOMENTUM.format(0.01)),
        (0.1, 0, "norm.running_var", BIASED),
        (0.01, 0, "norm.running_mean", f"{MOMENTUM.format(0.01)}, and {BIASED}"),
    ],
)
def test_the_rule_of_a_layer_that_is_called_twice_is_named(momentum, ddof, name, cause):
    """One formula for the new value does not hold then; torch itself is run with the rule."""
    torch.manual_seed(0)
    module = Twice()
    assert report(module, {"norm": 0.1}, 1, X, Y).verdict == "pass"
    first = report(module, {"norm": momentum}, ddof, X, Y).first

    assert first is not None and first.tested
    assert (first.torch, first.cause) == (name, cause + TESTED)


@pytest.mark.parametrize("lost", [1, 2])
def test_statistics_that_a_port_loses_between_two_calls_are_named(lost):
    """A port that passes the first state on twice keeps the statistics of one call alone."""
    right = port({"norm": 0.1}, 1)

    def losing(p: Any, x: Any, y: Any) -> Any:
        (first, second), _ = right(p, x, y)
        kept = port({"norm": 0.1}, 1)(p, y if lost == 1 else x)[1]
        return (first, second), kept

    torch.manual_seed(0)
    module = Twice()
    found = prove(module, losing, arrays(module), (X, Y), has_state=True).first
    assert found is not None and found.tested and found.torch == "norm.running_mean"
    assert found.cause == f"JAX loses the new statistics of call {lost} of 2 of norm{TESTED}"


class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.out = nn.BatchNorm1d(3), nn.BatchNorm1d(3), nn.Linear(3, 2)

    def forward(self, x):
        return self.out(self.second(self.first(x).tanh()).tanh())


@pytest.mark.parametrize("momenta", [(0.3, 0.3), (0.1, 0.3), (0.3, 0.1)])
def test_the_rule_of_all_layers_or_of_one_is_named(momenta):
    """The other layer keeps torch's momentum, or has the wrong one too."""
    torch.manual_seed(0)
    chosen = dict(zip(("first", "second"), momenta, strict=True))
    first = report(Stack(), chosen, 1, X).first

    assert first is not None and first.tested
    assert first.torch == next(f"{n}.running_mean" for n, m in chosen.items() if m == 0.3)
    assert first.cause == MOMENTUM.format(0.3) + TESTED


def test_each_of_two_rules_is_named_for_its_layer():
    """Each layer has a momentum of its own: the cause is that of the buffer that is shown."""
    torch.manual_seed(0)
    first = report(Stack(), {"first": 0.3, "second": 0.4}, 1, X).first
    assert first is not None and first.torch == "first.running_mean"
    assert first.cause == MOMENTUM.format(0.3) + TESTED


@pytest.mark.parametrize(
    ("rates", "name", "cause"),
    [
        ((0.9, 0.1), "running_mean", "is inverted: torch uses 0.1, JAX uses 0.9"),
        ((0.1, 0.3), "running_var", f"is 0.3, torch uses 0.1 ({PART})"),
    ],
)
def test_one_statistic_may_have_a_momentum_of_its_own(rates, name, cause):
    """The other statistic has torch's momentum, so a rule that changes both explains nothing."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.BatchNorm1d(3))

    def apply(p: Any, x: Any) -> Any:
        new = {"0.running_mean": x.mean(0), "0.running_var": x.var(0, ddof=1)}
        of = dict(zip(new, rates, strict=True))
        state = {key: (1 - of[key]) * p[key] + of[key] * new[key] for key in new}
        normal = (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-5)
        return normal * p["0.weight"] + p["0.bias"], state

    first = prove(module, apply, arrays(module), (X,), has_state=True).first
    assert first is not None and first.torch == f"0.{name}"
    assert first.cause == f"the momentum of {name} {cause}{TESTED}" and first.tested


def test_another_rule_is_not_explained():
    """The negative control: a mean of squares is no variance."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.BatchNorm1d(3))

    def apply(p: Any, x: Any) -> Any:
        state = {"0.running_mean": 0.9 * p["0.running_mean"] + 0.1 * jnp.median(x, 0)}
        normal = (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-5)
        state["0.running_var"] = 0.9 * p["0.running_var"] + 0.1 * x.var(0, ddof=1)
        return normal * p["0.weight"] + p["0.bias"], state

    first = prove(module, apply, arrays(module), (X,), has_state=True).first
    assert first is not None and first.torch == "0.running_mean"
    assert not first.cause and not first.tested


def test_the_layer_that_does_what_torch_does_is_named_for_a_flax_module():
    """flax's own batch norm differs from torch in its default momentum, and in the variance."""
    module = nn.BatchNorm1d(3)
    flax = nnx.BatchNorm(3, epsilon=1e-5, rngs=nnx.Rngs(0))
    jaxgrad.nnx.load_state_dict(flax, module.state_dict())
    first = prove(module, flax, None, (X,)).first
    assert first is not None and first.tested
    both = f"{MOMENTUM.format(0.01)}, and {BIASED}"
    assert first.cause == f"{both}; jaxgrad.nnx.BatchNorm1d does what torch does{TESTED}"

    own = jaxgrad.nnx.BatchNorm1d(3)
    jaxgrad.nnx.load_state_dict(own, module.state_dict())
    assert prove(module, own, None, (np.asarray(X),)).verdict == "pass"


def test_a_dump_has_no_module_to_rerun(tmp_path):
    """Without torch's module no rule is tried, and the report names the buffer that differs."""
    module = nn.Sequential(OrderedDict(norm=nn.BatchNorm1d(3), tanh=nn.Tanh(), out=nn.Linear(3, 2)))
    path = tmp_path / "torch.npz"
    dump(module, (X,), path)
    wrong = port({"norm": 0.01}, 1)

    first = prove(path, wrong, arrays(module), has_state=True).first

    assert first is not None and first.torch == "norm.running_mean"
    assert "bug in jaxgrad" not in str(first), first


class Own(nn.Module):
    """A norm of the user's own, which has torch's name for the momentum."""

    mean: torch.Tensor
    var: torch.Tensor

    def __init__(self):
        super().__init__()
        self.momentum, self.fc = 0.1, nn.Linear(3, 2)
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("var", torch.ones(2))

    def forward(self, x):
        y = self.fc(x)
        with torch.no_grad():
            self.mean.lerp_(y.mean(0), self.momentum)
            self.var.lerp_(y.var(0), self.momentum)
        return torch.tanh(y)


def test_the_weight_of_an_average_in_place_is_named():
    """The calls are those of `lerp_`; no rule of torch's batch norm is tried for them."""

    def apply(p: Any, x: Any, kept: float = 0.1) -> Any:
        y = x @ p["fc.weight"].T + p["fc.bias"]
        mean = kept * p["mean"] + (1 - kept) * y.mean(0)
        var = kept * p["var"] + (1 - kept) * y.var(0, ddof=1)
        return jnp.tanh(y), {**p, "mean": mean, "var": var}

    torch.manual_seed(0)
    module = Own()
    found = prove(module, apply, arrays(module), (X,), has_state=True).first

    assert found is not None and found.tested
    assert found.cause == (
        "weight is 0.9, torch uses 0.1 (rerunning torch with 0.9 reproduces JAX's outputs and new "
        "state if all 2 calls of lerp are changed)"
    )

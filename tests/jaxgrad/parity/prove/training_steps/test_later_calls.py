"""Models whose first calls agree are compared over further calls, and in eval mode after them."""

from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from flax import nnx
from jax import lax
from torch import Tensor, nn
from torch.nn.utils import parametrizations

from jaxgrad.parity import prove
from jaxgrad.parity.prove.report import NO_STEP
from jaxgrad.parity.prove.training_steps.later_calls import leaves_of_state
from tests.jaxgrad.parity.prove._helpers import arrays, draw


X = draw(8, 3)
TEXT = "outputs and state agree in 3 calls in a row"
EVAL = f"{TEXT}, and so do the outputs of a further call in eval mode"


class Centered(nn.Module):
    """Subtracts the mean over all calls so far, which eval mode does not update."""

    n: Tensor
    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor([2.0, 3.0, 5.0]))
        self.register_buffer("n", torch.tensor(0.0))
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            with torch.no_grad():
                self.n.add_(1)
                self.mean.add_((x.mean(0) - self.mean) / self.n)
        return self.w * (x - self.mean)


class NnxCentered(nnx.Module):
    def __init__(self, most: float = 9.0, ignores: bool = False) -> None:
        self.w = nnx.Param(jnp.asarray([2.0, 3.0, 5.0]))
        self.n, self.mean = nnx.BatchStat(jnp.zeros(())), nnx.BatchStat(jnp.zeros(3))
        self.deterministic, self.most, self.ignores = False, most, ignores

    def __call__(self, x: Any) -> Any:
        if not self.deterministic:
            mean = lax.stop_gradient(x.mean(0))
            self.n[...] = self.n[...] + 1
            share = jnp.minimum(self.n[...], self.most)
            self.mean[...] = self.mean[...] + (mean - self.mean[...]) / share
        elif self.ignores:
            return self.w * x
        return self.w * (x - self.mean[...])


def test_calls_and_a_call_in_eval_mode_agree():
    """A right port passes on three draws, and the report says what was compared."""
    for seed in range(3):
        report = prove(Centered(), NnxCentered(), None, (X,), seed=seed)
        assert report.verdict == "pass", report
        assert report.surfaces["updates"].text == f"2 buffer updates agree; {EVAL}; {NO_STEP}"
    module = Centered()
    prove(module, NnxCentered(), None, (X,))
    assert module.training and not module.n


def test_a_state_that_differs_from_the_third_call_on_is_found():
    """An average that counts at most two calls agrees in the first two."""
    report = prove(Centered(), NnxCentered(2.0), None, (X,))
    assert report.verdict == "fail"
    assert report.surfaces["updates"].text.endswith("output, mean differ in call 3 of 3")
    assert report.first is not None and report.first.surface == "updates"
    assert "the output in call 3 of 3 is off by" in report.first.text


def test_a_state_that_eval_mode_does_not_use_is_found():
    """The port's own eval mode, `.eval()`, ignores what it has learned."""
    report = prove(Centered(), NnxCentered(ignores=True), None, (X,))
    assert report.verdict == "fail"
    assert report.surfaces["updates"].text.endswith("output differs in eval mode after 3 calls")


class Flag(NnxCentered):
    """A port whose `.eval()` does not switch the call, as the caller passes the mode."""

    def __call__(self, x: Any) -> Any:
        before, self.deterministic = self.deterministic, False
        out = super().__call__(x)
        self.deterministic = before
        return out


def test_a_port_that_is_not_switched_is_not_compared_in_eval_mode():
    report = prove(Centered(), Flag(), None, (X,))
    assert report.verdict == "pass", report
    assert report.surfaces["updates"].text.endswith(f"{TEXT}; {NO_STEP}")


class Spectral(eqx.Module):
    fc: eqx.nn.SpectralNorm

    def __call__(self, x: Any, state: Any) -> Any:
        return self.fc(x, state)


@pytest.mark.parametrize("iterations", [1, 2])
def test_spectral_norm_of_equinox_is_compared(iterations):
    """The vectors of the power iteration are state; a second iteration is found."""
    torch.manual_seed(0)
    module = parametrizations.spectral_norm(nn.Linear(3, 4))
    state = arrays(module)
    fc = eqx.nn.Linear(3, 4, key=jax.random.key(0))
    weight, bias = state["parametrizations.weight.original"], state["bias"]
    fc = eqx.tree_at(lambda m: (m.weight, m.bias), fc, (jnp.asarray(weight), jnp.asarray(bias)))
    model, held = eqx.nn.make_with_state(
        lambda: Spectral(eqx.nn.SpectralNorm(fc, "weight", iterations, key=jax.random.key(1)))
    )()
    u, v = (jnp.asarray(state[f"parametrizations.weight.0.{name}"]) for name in ("_u", "_v"))
    held = held.set(model.fc.uv_index, (u, v))

    def port(p: Any, x: Any) -> Any:
        return jax.vmap(p[0], (0, None), (0, None))(x, p[1])

    for seed in range(3 if iterations == 1 else 1):
        report = prove(module, port, (model, held), (X,), has_state=True, seed=seed)
        assert report.verdict == ("pass" if iterations == 1 else "fail"), report
        if iterations == 1:
            assert report.surfaces["updates"].text.endswith(f"{EVAL}; {NO_STEP}")


@pytest.mark.parametrize(
    ("params", "state", "leaves"),
    [
        (["w", "mean"], ["mean"], {0: 1}),
        (["params/w", "ema/mean"], ["ema/mean"], {0: 1}),
        (["0/blocks/1/0", "0/blocks/1/1", "1/0", "1/1/0", "1/1/1"], ["0", "1/0", "1/1"],
         {0: 2, 1: 3, 2: 4}),
        (["w"], ["mean"], {}),
    ],
)  # fmt: skip
def test_the_state_replaces_the_leaves_of_one_part_of_the_params(params, state, leaves):
    """The numbers of an equinox state may end other paths too."""
    program: Any = SimpleNamespace(param_paths=params, state_paths=state)
    assert leaves_of_state(program) == leaves


def test_several_optimizer_steps_are_as_many_calls():
    """An average that counts at most four calls differs in the fifth."""
    optimizer: Any = (lambda p: torch.optim.SGD(p, 0.1), optax.sgd(0.1))
    right, wrong = (
        prove(Centered(), NnxCentered(most), None, (X,), optimizer=optimizer, steps=6)
        for most in (9.0, 4.0)
    )
    assert right.verdict == "pass", right
    assert "in 6 calls" in right.surfaces["updates"].text
    assert "differ in call 5 of 6" in wrong.surfaces["updates"].text


def test_accepted_differences_excuse_the_outputs():
    """The running variance of flax is biased; with it accepted, eval mode is not compared."""
    module = nn.BatchNorm1d(3)
    port = nnx.BatchNorm(3, momentum=0.9, epsilon=1e-5, rngs=nnx.Rngs(0))
    accept = {"updates": {"running_var": "flax divides by N"}}
    report = prove(module, port, None, (X,), accept=accept)
    assert report.verdict == "pass", report
    assert "the state agrees in 3 calls" in report.surfaces["updates"].text
    assert np.all(module.running_mean.numpy() == 0)  # pyright: ignore[reportOptionalMemberAccess]

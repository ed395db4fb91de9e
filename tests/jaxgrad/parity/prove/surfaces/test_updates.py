"""Optimizers, their settings and schedules, and the state after a forward pass are compared."""

import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from jax import lax
from torch import Tensor, nn
from torch.optim import swa_utils

from jaxgrad import optim
from jaxgrad.parity import Report, Training, prove
from parity_tests.audits.optimizers import ELEMENTWISE, OPTIMIZERS
from tests.jaxgrad.parity.prove._helpers import arrays, draw, proved


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("cause", "tx"),
    [
        ("the weight decay is missing", optax.adam(1e-3)),
        ("eps is 1e-06", optax.adamw(1e-3, weight_decay=1e-2, eps=1e-6)),
        ("the learning rate is 10 times torch's", optax.adamw(1e-2, weight_decay=1e-2)),
    ],
    ids=["decay", "eps", "rate"],
)
def test_a_different_optimizer_setting_is_named(arguments, cause, tx):
    """An optax transformation with a different setting fails, and the report names the setting."""
    report = proved(arguments, optimizer=(lambda p: torch.optim.AdamW(p, 1e-3), tx), steps=2)
    assert report.first.surface == "updates"
    assert cause in report.first.cause


# The optimizers that are missing here need sparse gradients, matrices alone, or a closure.
MODES = [("adafactor", {}), *((name, {"exact": e}) for name in ELEMENTWISE for e in (False, True))]


@pytest.mark.sampled(15)
@pytest.mark.parametrize(("name", "options"), MODES, ids=str)
def test_every_optimizer_of_jaxgrad_passes(name, options):
    """Each optimizer of `jaxgrad.optim` agrees with torch's; another learning rate fails."""
    record = OPTIMIZERS[name]
    factory: Any = record.torch
    torch.manual_seed(0)
    module = nn.Linear(3, 2, bias=False)  # a single leaf: the exact programs compile for long

    def report(lr: float) -> Report:
        pair = (lambda p: factory(p, lr=1e-2), record.make(lr=lr, **options))
        return prove(module, lambda p, x: x @ p["weight"].T, arrays(module), (draw(4, 3),),
                     optimizer=pair, steps=2)  # fmt: skip

    right = report(1e-2)
    assert right.verdict == "pass", right
    wrong = report(2e-2)
    assert wrong.first is not None and wrong.first.surface == "updates"


def scheduled(parameters: Any) -> Any:
    optimizer: Any = torch.optim.SGD(parameters, 1e-3)
    optimizer.scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    return optimizer


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rate", [0.9, 0.901])
def test_a_schedule_in_float32_is_lifted(arguments, rate):
    """float32 rounding of a schedule does not count as the port's error; that of an update does."""
    tx = optax.sgd(optax.exponential_decay(1e-3, 1, rate))
    report = proved(arguments, optimizer=(scheduled, tx), steps=3)
    assert (report.verdict == "pass") == (rate == 0.9), report


def test_a_schedule_in_float16_is_not_lifted(arguments):
    """A schedule in float16 is off by 4e-4, so it is judged as a different schedule."""
    tx = optax.sgd(lambda step: jnp.float16(1e-3) + jnp.float16(0) * step)
    report = proved(arguments, optimizer=(lambda p: torch.optim.SGD(p, 1e-3), tx), steps=3)
    assert report.first.surface == "updates"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("rate", [0.1, 0.1001])
def test_a_learning_rate_in_the_state_is_lifted(rate):
    """A learning rate that optax keeps in float32 passes, but another one fails."""
    module = nn.Linear(3, 2)
    tx = optax.inject_hyperparams(optax.adam)(learning_rate=rate)

    def apply(p: Any, x: Any) -> Any:
        return x @ p["weight"].T + p["bias"]

    report = prove(module, apply, arrays(module), (draw(4, 3),),
                   optimizer=(lambda p: torch.optim.Adam(p, 0.1), tx), steps=2)  # fmt: skip
    assert (report.verdict == "pass") == (rate == 0.1), report


class EverySecond(torch.optim.SGD):
    """Apply the mean gradient of two calls in every second call, as a training loop would."""

    calls = 0

    def zero_grad(self, set_to_none: bool = True) -> None:
        del set_to_none

    def step(self, closure: Any = None) -> None:
        self.calls += 1
        if self.calls % 2 == 0:
            for p in self.param_groups[0]["params"]:
                p.grad /= 2
            super().step(closure)
            super().zero_grad()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("every", [2, 3])
def test_an_optimizer_may_have_float32_state(every: int):
    """An optimizer that keeps float32 state and rejects float64 can still be compared."""
    torch.manual_seed(0)
    module = nn.Linear(3, 2)

    def apply(p: Any, x: Any) -> Any:
        return x @ p["weight"].T + p["bias"]

    transformation = optax.MultiSteps(optax.sgd(0.1), every_k_schedule=every)
    optimizer = (lambda p: EverySecond(p, lr=0.1), transformation)
    losses = (lambda out: (out**2).mean(), lambda out: (out**2).mean())
    report = prove(module, apply, arrays(module), (draw(4, 3),), loss=losses,
                   optimizer=optimizer, steps=4)  # fmt: skip
    assert report.surfaces["updates"].verdict == ("pass" if every == 2 else "fail")


def test_the_momentum_of_a_batch_norm_is_named():
    """A running mean with another momentum fails, and the cause has both momenta."""
    module = nn.BatchNorm1d(3, affine=False).train()

    def apply(p: Any, x: Any) -> Any:
        mean, var = x.mean(0), x.var(0)
        state = {"running_mean": 0.99 * p["running_mean"] + 0.01 * mean,
                 "running_var": 0.99 * p["running_var"] + 0.01 * x.var(0, ddof=1)}  # fmt: skip
        return (x - mean) / jnp.sqrt(var + 1e-5), state

    params = {"running_mean": arrays(module)["running_mean"] * 1.0,
              "running_var": arrays(module)["running_var"]}  # fmt: skip
    report: Any = prove(module, apply, params, (draw(8, 3),), has_state=True)
    assert report.verdict == "fail", report
    assert "the momentum is 0.01, torch uses 0.1" in report.first.cause


def test_two_mistakes_are_found_one_after_the_other(arguments):
    """The momentum shows in the second step, the missing schedule in the third one."""
    training = Training(
        lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
        optax.sgd(0.1, momentum=0.8),
        scheduler=lambda opt: torch.optim.lr_scheduler.MultiStepLR(opt, [2], 0.5),
    )
    report = proved(arguments, optimizer=training, steps=4)
    assert report.first.tested and report.first.text.startswith("the weight's change after step 2")
    assert report.first.cause == (
        "momentum is 0.8, torch uses 0.9, and the schedule is missing, seen from step 3 on "
        "(rerunning torch with both changes reproduces JAX's weights)"
    )


def test_a_change_is_not_blamed_for_a_difference_that_it_hides(arguments):
    """The schedules are equal, and the clipping differs by torch's 1e-6 (newcomer_1.py)."""
    schedule = optax.cosine_decay_schedule(1e-2, 10)
    training = Training(
        lambda p: torch.optim.AdamW(p, lr=1e-2, weight_decay=0.05),
        optax.chain(optax.clip_by_global_norm(0.3), optax.adamw(schedule, weight_decay=0.05)),
        scheduler=lambda opt: torch.optim.lr_scheduler.CosineAnnealingLR(opt, 10),
        schedule=schedule,
        clip=0.3,
    )
    report = proved(arguments, optimizer=training, steps=3)
    assert report.verdict == "fail"
    right = "optax.clip_by_global_norm lacks the 1e-6 that torch adds to the norm"
    assert report.first.cause.startswith(right), report
    (note,) = (note for note in report.notes if note.startswith("the 1e-6 changes"))

    accept = {"updates": {"*": ("optax's clipping lacks torch's 1e-6", 1e-5)}}
    written = 'accept={"updates": {"*": ("optax\'s clipping lacks torch\'s 1e-6", 1e-5)}}'
    assert note.endswith(f"pass {written}") and eval(f"dict({written})")["accept"] == accept
    assert proved(arguments, optimizer=training, steps=3, accept=accept).verdict == "pass"


class Unused(nn.Module):
    """A parameter that no output depends on."""

    def __init__(self):
        super().__init__()
        self.w, self.unused = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(2))

    def forward(self, x):
        return (x @ self.w).square().mean()


NOTE = "was given None as the gradient of unused, as from jaxgrad.grad"


@pytest.mark.parametrize(
    ("tx", "none", "passes"),
    [
        (optim.adamw(lr=0.1), None, True),
        (optim.adamw(lr=0.1), True, True),
        (optim.adamw(lr=0.1), False, False),
        (optax.chain(optax.clip_by_global_norm(1e9), optim.adamw(lr=0.1)), True, True),
        (optax.adamw(0.1, weight_decay=0.01), None, False),
    ],
)
def test_a_weight_without_a_gradient_gets_none_or_zeros(tx, none, passes):
    """The default is what `jaxgrad.grad` gives `jaxgrad.optim`, and what `jax.grad` gives optax."""
    training = Training(lambda params: torch.optim.AdamW(params, 0.1), tx, none_grads=none)
    module = Unused()
    report = prove(
        module, lambda p, x: (x @ p["w"]).__pow__(2).mean(), arrays(module), (draw(4, 3),),
        optimizer=training, steps=2,
    )  # fmt: skip
    assert (report.verdict == "pass") == passes, report
    assert any(NOTE in note for note in report.notes) == (none is None and passes)
    if not passes:
        assert report.first is not None
        assert "give jaxgrad.optim the None of jaxgrad.grad" in report.first.cause


class Follower(nn.Module):
    """A target network that follows the trained one after each step."""

    def __init__(self):
        super().__init__()
        self.online, self.target = nn.Linear(3, 2), nn.Linear(3, 2)
        self.target.requires_grad_(False)

    def forward(self, x):
        return ((self.online(x) - self.target(x).detach()) ** 2).mean()


def from_the_start(module: Any) -> Any:
    average: Any = swa_utils.AveragedModel(module, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.9))
    average.n_averaged.fill_(1)
    return average


@pytest.mark.parametrize(("decay", "passes"), [(0.9, True), (0.8, False)])
def test_the_average_includes_weights_that_only_after_changes(decay, passes):
    """The port's function of `ema=` gets the target network too, which is not trained."""
    torch.manual_seed(0)
    module = Follower()

    def apply(p: Any, x: Any) -> Any:
        online = x @ p["online.weight"].T + p["online.bias"]
        target = x @ p["target.weight"].T + p["target.bias"]
        return jnp.mean((online - lax.stop_gradient(target)) ** 2)

    def torch_follow(model: Any) -> None:
        for slow, fast in zip(model.target.parameters(), model.online.parameters(), strict=True):
            slow.lerp_(fast, 0.25)

    def follow(p: Any) -> Any:
        names = ("weight", "bias")
        target = {f"target.{n}": 0.75 * p[f"target.{n}"] + 0.25 * p[f"online.{n}"] for n in names}
        return p | target

    def average(avg: Any, p: Any) -> Any:
        def mean(name: str, a: Any, x: Any) -> Any:
            d = decay if name.startswith("target") else 0.9
            return d * a + (1 - d) * x

        return {name: mean(name, avg[name], x) for name, x in p.items()}

    training = Training(
        lambda model: torch.optim.SGD(model.online.parameters(), 0.1), optax.sgd(0.1),
        after=(torch_follow, follow), ema=(from_the_start, average),
    )  # fmt: skip
    report = prove(module, apply, arrays(module), (draw(4, 3),), optimizer=training, steps=2,
                   trainable=lambda path: path.startswith("online"))  # fmt: skip
    assert (report.verdict == "pass") == passes, report
    if not passes:
        assert report.first is not None and report.first.torch.startswith("target")
        assert "the weight's average after step 1 is off by" in report.first.text


class Target(nn.Module):
    """A network with a target network and a center, which each forward pass updates."""

    center: Tensor
    count: Tensor

    def __init__(self):
        super().__init__()
        self.online, self.target = nn.Linear(3, 2), nn.Linear(3, 2)
        self.target.requires_grad_(False)
        self.register_buffer("center", torch.randn(2))
        self.register_buffer("count", torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        online = self.online(x)
        with torch.no_grad():
            target = self.target(x)
            centered = target - self.center
            self.count.mul_(0.9).add_(target.square().sum(0), alpha=0.1)
            self.center = 0.8 * self.center + 0.2 * target.mean(0)
            for a, b in zip(self.online.parameters(), self.target.parameters(), strict=True):
                b.data.mul_(0.75).add_(a.data, alpha=0.25)
        return online - centered


def target_port(
    p: Any, x: Any, tau: float = 0.75, decay: float = 0.9, rate: float = 0.8, share: float = 1.0,
    statistic: Any = lambda target, _: target.mean(0),
) -> Any:  # fmt: skip
    """Return the outputs and the new state; each argument is one way to be wrong."""

    def linear(name: str) -> Any:
        return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]

    online, target = linear("online"), lax.stop_gradient(linear("target"))
    new = {
        "count": decay * p["count"] + share * (1 - decay) * (target**2).sum(0),
        "center": rate * p["center"] + (1 - rate) * statistic(target, online),
    }
    for name in ("weight", "bias"):
        new[f"target.{name}"] = tau * p[f"target.{name}"] + (1 - tau) * p[f"online.{name}"]
    outputs = online - (target - p["center"])
    return outputs, jax.tree.map(lax.stop_gradient, new)


def target_proved(fn: Any, **options: Any) -> Report:
    torch.manual_seed(0)
    module = Target()

    def trained(path: str) -> bool:
        return path.startswith("online")

    return prove(
        module, fn, arrays(module), (draw(4, 3),), has_state=True, trainable=trained, **options
    )


def line(fn: Any, text: str) -> int:
    """Return the number of the first line of a function with a text."""
    lines, start = inspect.getsourcelines(fn)
    return next(n for n, x in enumerate(lines, start) if text in x)


def test_a_right_port_passes():
    assert target_proved(target_port).verdict == "pass"


@pytest.mark.parametrize(
    ("setting", "text", "cause", "all_"),
    [
        ({"decay": 0.1}, '"count": decay', "0.1 and 0.9, torch uses 0.9 and 0.1", ""),
        ({"rate": 0.6}, '"center": rate', "0.6 and 0.4, torch uses 0.8 and 0.2", ""),
        (
            {"tau": 0.9},
            "tau * p",
            "0.9 and 0.1, torch uses 0.75 and 0.25",
            " if all 2 such averages are changed",
        ),
    ],
    ids=["in place", "assigned", "data of parameters"],
)
def test_the_weights_of_an_average_are_named_with_the_line(setting, text, cause, all_):
    """The line of the port is named, whether torch updates in place or assigns."""
    first = target_proved(lambda p, x: target_port(p, x, **setting)).first
    assert first is not None and first.surface == "updates" and first.tested
    assert first.jax.startswith(f"test_updates.py:{line(target_port, text)}")
    assert first.cause == (
        f"the weights of the average are {cause} (rerunning torch with this change reproduces "
        f"JAX's outputs and new state{all_})"
    )


def test_two_averages_are_found_one_after_the_other():
    surface = target_proved(lambda p, x: target_port(p, x, tau=0.9, rate=0.6)).surfaces["updates"]
    assert len(surface.findings) == 2 and all(f.tested for f in surface.findings)
    first, second = (f.cause for f in surface.findings)
    assert first == (
        "the weights of the average are 0.9 and 0.1, torch uses 0.75 and 0.25 (rerunning torch "
        "with this change reproduces JAX's target.weight and target.bias if all 2 such averages "
        "are changed, and with the change below its outputs and new state)"
    )
    assert second.startswith("the weights of the average are 0.6 and 0.4, torch uses 0.8 and 0.2")


def test_a_statistic_of_another_value_is_located():
    """The center is the mean of the outputs of the online network in the port."""
    first = target_proved(
        lambda p, x: target_port(p, x, statistic=lambda _, online: online.mean(0))
    ).first
    assert first is not None and first.surface == "updates" and first.op == "mean"
    assert "The new value of center is off by" in first.text
    assert "JAX's mean reads the result of online (linear), torch's reads" in first.cause


def test_a_lost_number_is_named():
    """The port adds the whole statistic to the part that stays."""
    first = target_proved(lambda p, x: target_port(p, x, share=10.0)).first
    assert first is not None and first.tested
    assert first.cause.startswith("alpha is 1, torch uses 0.1 (rerunning torch with 1 reproduces")


def test_an_unknown_change_is_placed_without_a_cause():
    first = target_proved(
        lambda p, x: target_port(p, x, statistic=lambda x, _: jnp.exp(jnp.sin(x)).sum(0))
    ).first
    assert first is not None and not first.tested and not first.cause
    assert first.torch_line and first.op == "mean", first


def test_a_suggested_change_is_proved_again():
    """The edit is printed, because the new state agrees with it."""

    def wrong(p: Any, x: Any) -> Any:
        outputs, new = target_port(p, x)
        target = lax.stop_gradient(x @ p["target.weight"].T + p["target.bias"])
        mean = jnp.sqrt(jnp.mean(target**2, axis=1))
        new["norm"] = 0.9 * p["norm"] + 0.1 * mean
        return outputs, new

    class WithNorm(Target):
        def __init__(self):
            super().__init__()
            self.register_buffer("norm", torch.ones(2))

        def forward(self, x: Tensor) -> Tensor:
            with torch.no_grad():
                mean = self.target(x).square().mean(0).sqrt()
                self.norm = 0.9 * self.norm + 0.1 * mean
            return super().forward(x)

    torch.manual_seed(0)
    module = WithNorm()
    report = prove(
        module, wrong, arrays(module), (np.float64(draw(2, 3)),), has_state=True,
        trainable=lambda path: path.startswith("online"),
    )  # fmt: skip
    first = report.first
    assert first is not None and first.surface == "updates"
    assert first.edit is not None, report
    assert "axis=0" in first.edit.new and first.edit.complete


def test_a_mask_that_does_not_expect_none_is_explained():
    """Leaves that are not trained are None in the params that the transformation gets."""
    torch.manual_seed(0)
    module = Follower()

    def apply(p: Any, x: Any) -> Any:
        online = x @ p["online.weight"].T + p["online.bias"]
        target = x @ p["target.weight"].T + p["target.bias"]
        return jnp.mean((online - lax.stop_gradient(target)) ** 2)

    def mask(params: Any) -> Any:
        return {name: x.ndim > 1 for name, x in params.items()}

    tx = optax.adamw(0.1, mask=mask)
    pair = (lambda model: torch.optim.AdamW(model.online.parameters(), 0.1), tx)
    report = prove(module, apply, arrays(module), (draw(4, 3),), optimizer=Training(*pair),
                   trainable=lambda path: path.startswith("online"))  # fmt: skip
    assert report.verdict == "error"
    assert "the init of the optax transformation raised AttributeError" in str(report)
    assert "It gets the params with None for the leaves that are not trained" in str(report)

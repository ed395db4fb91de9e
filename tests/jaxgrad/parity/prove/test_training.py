"""`Training` describes a training step; its fields are checked and each one is compared."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

import jaxgrad
from jaxgrad.parity import Training, prove
from jaxgrad.parity.prove.record.adapters import ProofError
from jaxgrad.parity.prove.training import as_training
from tests.jaxgrad.parity.prove._helpers import arrays, draw, proved


def sgd(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, lr=0.1)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (dict(scheduler=3), "Training(scheduler=) needs a function of torch's optimizer"),
        (dict(schedule=3), "Training(schedule=) needs a function of the step"),
        (dict(schedule=lambda step: 0.1), "Training(schedule=) needs scheduler="),
        (dict(clip=0), "Training(clip=) needs a positive maximum norm"),
        (dict(clip="1"), "Training(clip=) needs a positive maximum norm"),
        (dict(accumulate=0), "Training(accumulate=) needs a positive integer, got 0"),
        (
            dict(none_grads="zeros"),
            "Training(none_grads=) needs True for the gradients of "
            "jaxgrad.grad, or False for those of jax.grad, got 'zeros'",
        ),
        (dict(accumulate=True), "Training(accumulate=) needs a positive integer, got True"),
        (dict(total=1.5), "Training(total=) needs a positive integer, got 1.5"),
        (dict(ema=0.9), "Training(ema=) needs a pair (decay, function)"),
        (dict(ema=(2.0, max)), "needs a decay between 0 and 1"),
        (dict(ema=(0.9, 0.9)), "needs a function (average, params) -> average"),
        (dict(after=len), "Training(after=) needs a pair of functions: torch's of the module"),
        (dict(after=(len, 3)), "and the port's, params -> params, got (<built-in"),
    ],
)
def test_a_wrong_field_is_named(fields: dict[str, Any], text: str):
    """A field with a wrong value is refused in one sentence that names the field."""
    with pytest.raises(ProofError) as error:
        as_training(Training(sgd, optax.sgd(0.1), **fields))
    assert text in str(error.value)


@pytest.mark.parametrize("value", [3, (), (sgd,), {"torch": sgd}, optax.sgd(0.1)])
def test_only_a_pair_or_a_training_is_an_optimizer(value: Any):
    """Anything else is refused with an example of a pair."""
    with pytest.raises(ProofError, match="needs a pair"):
        as_training(value)


def linear() -> dict[str, Any]:
    torch.manual_seed(0)
    module = nn.Linear(3, 2)

    def apply(p: Any, x: Any) -> Any:
        return x @ p["weight"].T + p["bias"]

    return dict(module=module, fn=apply, params=arrays(module), inputs=(draw(4, 3),), steps=4)


def incremental(average: Any, params: Any) -> Any:
    return jax.tree.map(lambda a, p: 0.9 * a + 0.1 * p, average, params)


averaged_model = jaxgrad.optim.swa_utils.averaged_model(jaxgrad.optim.swa_utils.get_ema_avg_fn(0.9))


def from_the_start(model: Any) -> Any:
    """Return an average whose first update averages, as hand-written loops do."""
    averaged = AveragedModel(model, avg_fn=lambda a, p, n: 0.9 * a + 0.1 * p)
    averaged.n_averaged.fill_(1)
    return averaged


def decaying(optimizer: Any) -> Any:
    return torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)


clipped = optax.chain(jaxgrad.optim.clip_grad_norm(0.1), optax.sgd(0.1))
CLIP = dict(clip=0.1)
FIELDS = {
    "scheduler": (dict(scheduler=decaying), optax.sgd(lambda step: 0.1 * 0.9**step), True),
    "no schedule": (dict(scheduler=decaying), optax.sgd(0.1), False),
    "clip": (CLIP, clipped, True),
    "no clip": (CLIP, optax.sgd(0.1), False),
    "clip function": (
        dict(clip=lambda p: nn.utils.clip_grad_value_(p, 0.1)),
        optax.chain(optax.clip(0.1), optax.sgd(0.1)),
        True,
    ),
    "accumulate": (dict(accumulate=2), optax.MultiSteps(optax.sgd(0.1), 2), True),
    "accumulate too many": (dict(accumulate=2), optax.MultiSteps(optax.sgd(0.1), 4), False),
    "ema": (dict(ema=(0.9, averaged_model)), optax.sgd(0.1), True),
    "ema by hand": (dict(ema=(from_the_start, incremental)), optax.sgd(0.1), True),
    "ema from the start": (dict(ema=(0.9, incremental)), optax.sgd(0.1), False),
    "ema of zero": (dict(ema=(0.9, optax.ema(0.9))), optax.sgd(0.1), False),
}


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", FIELDS)
def test_each_field_is_compared(name: str):
    """The transformation that does what torch's loop does passes, and one that does not fails."""
    fields, tx, right = FIELDS[name]
    report = proved(linear(), optimizer=Training(sgd, tx, **fields))
    assert report.verdict == ("pass" if right else "fail"), report
    assert right or report.first.surface == "updates"


RAISING = {
    "scheduler=": dict(scheduler=lambda opt: opt.nonsense),
    "clip=": dict(clip=lambda parameters: 1 / 0),
    "ema=": dict(ema=(lambda model: 1 / 0, incremental)),
}


@pytest.mark.parametrize(("field", "fields"), RAISING.items(), ids=RAISING)
def test_an_error_in_a_function_is_reported(field: str, fields: dict[str, Any]):
    """A function of the user that raises is an error that names the field."""
    report = proved(linear(), optimizer=Training(sgd, optax.sgd(0.1), **fields))
    assert report.verdict == "error"
    assert f"Training({field}) raised" in report.text, report.text


@pytest.mark.parametrize(
    "fields",
    [dict(clip=1e-9), dict(clip=max), dict(accumulate=1, total=1), dict(total=None),
     dict(ema=(0, max)), dict(ema=[1, optax.ema(0.5)]), dict(ema=(max, max)),
     dict(scheduler=max, schedule=max)],
    ids=["clip", "clip function", "one", "no total", "zero", "object", "function", "schedule"],
)  # fmt: skip
def test_right_fields_are_accepted(fields: dict[str, Any]):
    """The ends of each range, and functions in place of numbers, are accepted."""
    training = Training(sgd, optax.sgd(0.1), **fields)
    assert as_training(training) is training
    assert as_training([sgd, 3]) == Training(sgd, 3) and Training(sgd).accumulate == 1


@pytest.mark.parametrize(
    "fields",
    [dict(clip=True), dict(clip=-1.0), dict(total=0), dict(total=True), dict(accumulate=2.0),
     dict(ema=(1.01, max)), dict(ema=(-0.01, max)), dict(ema=(True, max)), dict(ema=(0.9,)),
     dict(ema={0.9: max, 1: 2}), dict(ema=(0.9, type("Half", (), {"init": 1})()))],
    ids=["clip bool", "clip", "total", "total bool", "accumulate", "above", "below", "decay bool",
         "single", "dict", "half"],
)  # fmt: skip
def test_values_beyond_a_range_are_refused(fields: dict[str, Any]):
    """Bools are not numbers, and each range ends where its sentence says."""
    with pytest.raises(ProofError, match="needs a"):
        as_training(Training(sgd, optax.sgd(0.1), **fields))


class WithTarget(nn.Module):
    """A network whose loss compares it with a target network, as in Q-learning."""

    def __init__(self):
        super().__init__()
        self.online = nn.Linear(3, 2)
        self.target = nn.Linear(3, 2).requires_grad_(False)

    def forward(self, x):
        return torch.tanh(self.online(x)) - self.target(x)


def with_target(p: Any, x: Any) -> Any:
    online = jnp.tanh(x @ p["online"]["weight"].T + p["online"]["bias"])
    return online - (x @ p["target"]["weight"].T + p["target"]["bias"])


def polyak(model: Any) -> None:
    for slow, fast in zip(model.target.parameters(), model.online.parameters(), strict=True):
        slow.lerp_(fast, 0.25)


def follow(rate: float) -> Any:
    return lambda p: p | {"target": optax.incremental_update(p["online"], p["target"], rate)}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("after", "verdict"),
    [(follow(0.25), "pass"), (follow(0.75), "fail"), (lambda p: p, "fail")],
    ids=["right", "another rate", "missing"],
)
def test_the_update_of_a_target_network_is_compared(after, verdict):
    """Polyak averaging is a part of the training step, in both frameworks."""
    torch.manual_seed(0)
    module, tx = WithTarget(), optax.adam(1e-2)
    state = arrays(module)
    params = {
        net: {name: state[f"{net}.{name}"] for name in ("weight", "bias")}
        for net in ("online", "target")
    }
    training = Training(
        lambda model: torch.optim.Adam(model.online.parameters(), 1e-2), tx, after=(polyak, after)
    )
    report = prove(
        module, with_target, params, (draw(4, 3),), optimizer=training, steps=3,
        trainable="online/*", loss=(lambda y: (y**2).mean(), lambda y: (y**2).mean()),
    )  # fmt: skip
    assert report.verdict == verdict, report
    if verdict == "fail":
        assert report.first is not None and report.first.torch == "target.weight"
        assert report.first.text.startswith("the weight's change after step 1 is off by")
    else:
        names = [row["name"] for row in report.surfaces["updates"].rows]
        assert "target.weight after step 3" in names


class WithStatistics(nn.Module):
    """A target network in train mode, whose running statistics `after=` may copy."""

    def __init__(self):
        super().__init__()
        self.online = nn.Linear(3, 2, bias=False)
        self.target = nn.Linear(3, 2, bias=False).requires_grad_(False)
        self.norm, self.slow = (nn.BatchNorm1d(2, affine=False) for _ in range(2))

    def forward(self, x):
        return self.norm(self.online(x)) - self.slow(self.target(x))


def with_statistics(p: Any, x: Any) -> Any:
    def norm(name: str, h: Any) -> tuple[Any, Any]:
        mean, var, n = h.mean(0), h.var(0), len(h)
        new = {"running_mean": mean, "running_var": var * n / (n - 1)}
        kept = {k: 0.9 * p[name][k] + 0.1 * v for k, v in new.items()}
        return (h - mean) / jnp.sqrt(var + 1e-5), kept

    fast, kept = norm("norm", x @ p["online"]["weight"].T)
    slow, other = norm("slow", x @ p["target"]["weight"].T)
    return fast - slow, {"norm": kept, "slow": other}


def copied(model: Any) -> None:
    for slow, fast in zip(model.slow.buffers(), model.norm.buffers(), strict=True):
        slow.copy_(fast)


@pytest.mark.parametrize("torch_copies", [True, False])
@pytest.mark.parametrize("port_copies", [True, False])
def test_the_buffers_that_after_changes_are_compared(torch_copies, port_copies):
    """No weight depends on the statistics of a target network in train mode."""
    torch.manual_seed(0)
    module = WithStatistics()
    state = arrays(module)
    params: dict[str, dict[str, Any]] = {}
    for name, x in state.items():
        layer, _, key = name.rpartition(".")
        if key != "num_batches_tracked":
            params.setdefault(layer, {})[key] = x
    training = Training(
        lambda model: torch.optim.SGD(model.online.parameters(), 1e-2),
        optax.sgd(1e-2),
        after=(
            copied if torch_copies else lambda model: None,
            (lambda p: p | {"slow": p["norm"]}) if port_copies else lambda p: p,
        ),
    )
    report = prove(
        module, with_statistics, params, (draw(6, 3),), optimizer=training, steps=3,
        trainable="online/weight", has_state=True,
        loss=(lambda y: (y**4).mean(), lambda y: (y**4).mean()),
    )  # fmt: skip
    text = report.surfaces["updates"].text
    if torch_copies and not port_copies:
        accepted = prove(
            module, with_statistics, params, (draw(6, 3),), optimizer=training, steps=3,
            trainable="online/weight", has_state=True, accept={"updates": {"slow.*": "as given"}},
            loss=(lambda y: (y**4).mean(), lambda y: (y**4).mean()),
        )  # fmt: skip
        assert "; 2 buffers agree after each step" in accepted.surfaces["updates"].text, accepted
    if torch_copies == port_copies:
        assert "4 buffers agree after each step" in text, report
        return
    assert "2 of 4 buffers differ after step 1" in text, report
    assert report.first is not None and report.first.torch == "slow.running_mean"
    assert "so the port's function in after= differs" in report.first.cause

"""Learning rate schedules: torch's schedulers as functions of the step."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

import jaxgrad
from jaxgrad.optim import lr_scheduler
from parity_tests.case import case
from parity_tests.inputs import fixed, normal


INPUTS = dict(w=normal(3), target=normal(3))
STEPS = np.arange(60)


def train(w, target, schedule, momentum=None):
    """Run sixty steps of gradient descent with the schedule's learning rate."""

    def step(carry, i):
        w, buffer = carry
        lr = schedule(i).astype(w.dtype)
        beta = momentum(i).astype(w.dtype) if momentum else jnp.zeros((), w.dtype)
        grad = jaxgrad.grad(lambda w: 0.5 * jnp.sum((w - target) ** 2))(w)
        buffer = beta * buffer + grad
        return (w - lr * buffer, buffer), (lr, beta)

    (w, _), (rates, momenta) = lax.scan(step, (w, jnp.zeros_like(w)), jnp.asarray(STEPS))
    record = {"lr": rates, "w": w}
    return record | {"momentum": momenta} if momentum else record


class Constant:
    """A constant learning rate, in place of a scheduler."""

    def __init__(self, lr, *args, **kwargs):
        self.lr = lr

    def __call__(self, step):
        return jnp.asarray(self.lr)

    def momentum(self, step):
        return jnp.asarray(0.9)


@case(
    source="P153",
    inputs=INPUTS,
    idiom=("LambdaLR(o, lambda epoch: .95**epoch)", "lambda_lr(lr, lambda epoch: .95**epoch)"),
    control=dict(schedule=Constant),
)
def lambda_lr(w, target, *, schedule=lr_scheduler.lambda_lr):
    """LambdaLR multiplies the initial learning rate by a function of the epoch."""
    return train(w, target, schedule(0.1, lambda epoch: 0.95**epoch))


@case(
    source="P153",
    inputs=INPUTS,
    idiom=("MultiplicativeLR(o, lambda epoch: .95)", "multiplicative_lr(lr, lambda epoch: .95)"),
    control=dict(schedule=Constant),
)
def multiplicative_lr(w, target, *, schedule=lr_scheduler.multiplicative_lr):
    """MultiplicativeLR multiplies the previous learning rate by a function of the epoch."""
    return train(w, target, schedule(0.1, lambda epoch: 0.95))


def smooth(lr, step_size, gamma):
    """Use `optax.exponential_decay` with its default of no staircase."""
    return optax.exponential_decay(lr, step_size, gamma)


@case(
    source="P153",
    inputs=INPUTS,
    idiom=("StepLR(o, step_size=20, gamma=.5)", "step_lr(lr, step_size=20, gamma=.5)"),
    control=dict(schedule=smooth),
)
def step_lr(w, target, *, schedule=lr_scheduler.step_lr):
    """StepLR is a staircase; `optax.exponential_decay` is smooth by default."""
    return train(w, target, schedule(0.1, step_size=20, gamma=0.5))


def once_each(lr, milestones, gamma):
    """Use optax's boundaries, the keys of a dict, in which a repeated milestone counts once."""
    boundaries: Any = dict.fromkeys(milestones, gamma)
    return optax.piecewise_constant_schedule(lr, boundaries)


@case(
    source="P153",
    inputs=INPUTS,
    idiom=("MultiStepLR(o, [10, 30, 30], gamma=.5)", "multi_step_lr(lr, [10, 30, 30], gamma=.5)"),
    control=dict(schedule=once_each),
)
def multi_step_lr(w, target, *, schedule=lr_scheduler.multi_step_lr):
    """MultiStepLR multiplies at each milestone, and twice at a repeated one."""
    return train(w, target, schedule(0.1, [10, 30, 30], gamma=0.5))


@case(
    source="P154",
    inputs=INPUTS,
    idiom=("ConstantLR(o, factor=.25, total_iters=20)", "constant_lr(lr, .25, total_iters=20)"),
    control=dict(schedule=Constant),
)
def constant_lr(w, target, *, schedule=lr_scheduler.constant_lr):
    """ConstantLR multiplies the learning rate by a factor until epoch `total_iters`."""
    return train(w, target, schedule(0.1, factor=0.25, total_iters=20))


def from_zero(lr, total_iters):
    """Use the usual warmup in optax, whose first learning rate is 0."""
    return optax.linear_schedule(0.0, lr, total_iters)


@case(
    source="P154",
    inputs=INPUTS,
    idiom=("LinearLR(o, total_iters=20)", "linear_lr(lr, total_iters=20)"),
    control=dict(schedule=from_zero),
)
def linear_lr(w, target, *, schedule=lr_scheduler.linear_lr):
    """LinearLR by default warms up from a third of the learning rate, not from 0."""
    return train(w, target, schedule(0.1, total_iters=20))


@case(
    source="P153",
    inputs=INPUTS,
    idiom=("ExponentialLR(o, gamma=.95)", "exponential_lr(lr, gamma=.95)"),
    control=dict(schedule=Constant),
)
def exponential_lr(w, target, *, schedule=lr_scheduler.exponential_lr):
    """ExponentialLR multiplies the learning rate by gamma in every epoch."""
    return train(w, target, schedule(0.1, gamma=0.95))


@case(
    source="P149",
    inputs=INPUTS,
    idiom=("PolynomialLR(o, 40, power=2.0)", "polynomial_lr(lr, 40, power=2.0)"),
    control=dict(schedule=Constant),
)
def polynomial_lr(w, target, *, schedule=lr_scheduler.polynomial_lr):
    """PolynomialLR falls to 0 and stays there."""
    return train(w, target, schedule(0.1, total_iters=40, power=2.0))


def stays_down(lr, T_max, eta_min):  # noqa: N803  # torch's name
    return optax.cosine_decay_schedule(lr, T_max, alpha=eta_min / lr)


@case(
    source="P149",
    inputs=INPUTS,
    idiom=("CosineAnnealingLR(o, T_max=25)", "cosine_annealing_lr(lr, T_max=25)"),
    control=dict(schedule=stays_down),
)
def cosine_annealing_lr(w, target, *, schedule=lr_scheduler.cosine_annealing_lr):
    """CosineAnnealingLR goes up again after `T_max`; `optax.cosine_decay_schedule` does not."""
    return train(w, target, schedule(0.1, T_max=25, eta_min=0.01))


@case(
    source="P149",
    inputs=INPUTS,
    idiom=("CosineAnnealingWarmRestarts(o, 10, 2)", "cosine_annealing_warm_restarts(lr, 10, 2)"),
    control=dict(schedule=Constant),
)
def cosine_annealing_warm_restarts(
    w, target, *, schedule=lr_scheduler.cosine_annealing_warm_restarts
):
    """CosineAnnealingWarmRestarts restarts after 10, then 20, then 40 epochs."""
    return train(w, target, schedule(0.1, T_0=10, T_mult=2))


class OptaxCycle(Constant):
    def __init__(self, lr, max_lr, total_steps):
        self.rate = optax.cosine_onecycle_schedule(total_steps, max_lr)

    def __call__(self, step):
        return jnp.asarray(self.rate(step))


@case(
    source="P151",
    inputs=INPUTS,
    idiom=("OneCycleLR(o, max_lr=.5, total_steps=60)", "one_cycle_lr(lr, .5, total_steps=60)"),
    control=dict(schedule=OptaxCycle),
)
def one_cycle_lr(w, target, *, schedule=lr_scheduler.one_cycle_lr):
    """OneCycleLR's phases end one step before optax's, and it also cycles the momentum."""
    cycle = schedule(0.1, max_lr=0.5, total_steps=60)
    return train(w, target, cycle, cycle.momentum)


@case(
    source="P151",
    inputs=INPUTS,
    idiom=("CyclicLR(o, .01, .2, step_size_up=10)", "cyclic_lr(lr, .01, .2, step_size_up=10)"),
    control=dict(schedule=Constant),
)
def cyclic_lr(w, target, *, schedule=lr_scheduler.cyclic_lr):
    """CyclicLR rises and falls linearly while the momentum does the opposite."""
    cycle = schedule(0.1, 0.01, 0.2, step_size_up=10, mode="triangular2")
    return train(w, target, cycle, cycle.momentum)


def join(lr, schedules, milestones):
    return optax.join_schedules(schedules, milestones)


@case(
    source="P154",
    inputs=INPUTS,
    idiom=("SequentialLR(o, [a, b], [5])", "sequential_lr(lr, [a, b], [5])"),
    control=dict(sequential=join),
)
def sequential_lr(w, target, *, sequential=lr_scheduler.sequential_lr):
    """In SequentialLR a MultiplicativeLR continues from the previous learning rate."""
    warmup = lr_scheduler.linear_lr(0.1, total_iters=10)
    decay = lr_scheduler.multiplicative_lr(0.1, lambda epoch: 0.95)
    return train(w, target, sequential(0.1, [warmup, decay], [5]))


def product(schedules):
    """Multiply the factors of all schedules, as one might expect of a chain."""
    return lambda step: 0.1 * jnp.prod(jnp.stack([one(step) / 0.1 for one in schedules]))


@case(
    source="P149",
    inputs=INPUTS,
    idiom=("ChainedScheduler([a, b])", "chained_scheduler([a, b])"),
    control=dict(chained=product),
)
def chained_scheduler(w, target, *, chained=lr_scheduler.chained_scheduler):
    """In a chain a cosine scales the distance to its `eta_min`, so factors do not multiply."""
    warmup = lr_scheduler.linear_lr(0.1, total_iters=10)
    cosine = lr_scheduler.cosine_annealing_lr(0.1, T_max=30, eta_min=0.05)
    return train(w, target, chained([warmup, cosine]))


@case(
    source="P147",
    inputs=INPUTS,
    idiom=("SWALR(o, swa_lr=.02, anneal_epochs=20)", "swalr(lr, swa_lr=.02, anneal_epochs=20)"),
    control=dict(schedule=Constant),
)
def swalr(w, target, *, schedule=lr_scheduler.swalr):
    """SWALR anneals to its own learning rate and keeps it."""
    return train(w, target, schedule(0.1, swa_lr=0.02, anneal_epochs=20))


class OptaxPlateau:
    """`optax.contrib.reduce_on_plateau` with the same settings."""

    def __init__(self, lr, factor, patience):
        self.lr = lr
        self.tx = optax.contrib.reduce_on_plateau(factor, patience)

    def init(self):
        return jnp.asarray(self.lr), self.tx.init(jnp.ones(()))

    def update(self, state, loss):
        inner: Any = self.tx.update(jnp.ones(()), state[1], value=loss)[1]
        return self.lr * inner.scale, inner


@case(
    source="P152",
    inputs=dict(w=normal(3), target=fixed([0.5, -0.25, 1.0])),
    idiom=("scheduler.step(loss)", "state = plateau.update(state, loss); state.lr"),
    control=dict(plateau=OptaxPlateau),
)
def reduce_lr_on_plateau(w, target, *, plateau=lr_scheduler.reduce_lr_on_plateau):
    """ReduceLROnPlateau reduces after `patience` + 1 bad epochs, optax after `patience`."""
    reducer = plateau(0.5, factor=0.5, patience=2)

    def step(carry, _):
        w, state = carry
        loss, grad = jaxgrad.value_and_grad(lambda w: jnp.sum(jnp.abs(w - target)))(w)
        w = w - state[0].astype(w.dtype) * grad
        state = reducer.update(state, loss)
        return (w, state), (state[0].astype(w.dtype), loss)

    _, (rates, losses) = lax.scan(step, (w, reducer.init()), STEPS)
    return {"lr": rates, "losses": losses}

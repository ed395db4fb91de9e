"""A training loop with warm-up, clipping, accumulation and an average, and its port to optax."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import optax
import torch

import jaxgrad
from jaxgrad.optim import swa_utils
from jaxgrad.parity import Training
from parity_tests.ports import training
from parity_tests.ports._weights import build
from parity_tests.ports.bug import Bug
from parity_tests.ports.training import BATCH, FEATURES, RATE


WARM_UP, TOTAL, MAX_NORM, DECAY, MICRO = 3, 20, 0.05, 0.9, 2


def torch_schedule(optimizer: Any) -> Any:
    """Return a linear warm-up from a tenth of the rate and a cosine decay to a tenth of it."""
    schedulers = torch.optim.lr_scheduler
    warm_up = schedulers.LinearLR(optimizer, 0.1, total_iters=WARM_UP)
    cosine = schedulers.CosineAnnealingLR(optimizer, TOTAL - WARM_UP, eta_min=0.1 * RATE)
    return schedulers.SequentialLR(optimizer, [warm_up, cosine], [WARM_UP])


def schedule(
    warm_up: int = WARM_UP, total: int = TOTAL, start: float = 0.1, end: float = 0.1
) -> optax.Schedule:
    """Return the schedule of `torch_schedule`; the arguments introduce mistakes."""

    def rate(count: Any) -> Any:
        count = count * 1.0
        rising = RATE * (start + (1.0 - start) * count / warm_up)
        angle = jnp.pi * jnp.minimum((count - warm_up) / (total - warm_up), 1.0)
        falling = RATE * (end + (1.0 - end) * 0.5 * (1.0 + jnp.cos(angle)))
        return jnp.where(count < warm_up, rising, falling)

    return rate


def transformation(
    rate: optax.Schedule | None = None, *, max_norm: float = MAX_NORM, clip_last: bool = False,
    every: int = MICRO, mean: bool = True,
) -> optax.GradientTransformation:  # fmt: skip
    """Return the port's transformation; the arguments introduce mistakes."""
    clip = optax.stateless(lambda grads, _: jaxgrad.clip_grad_norm(grads, max_norm)[0])
    adam = optax.adamw(schedule() if rate is None else rate, weight_decay=0.1)
    steps = optax.chain(*([adam, clip] if clip_last else [clip, adam]))
    return optax.MultiSteps(steps, every, use_grad_mean=mean).gradient_transformation()


def average(decay: float = DECAY) -> Any:
    """Return a moving average that starts at the first weights it is given, as torch's does."""
    return swa_utils.averaged_model(swa_utils.get_ema_avg_fn(decay))


def from_start(mean: Any, params: Any) -> Any:
    """Average with the weights before the first step, as ports do that copy the params at first."""
    return optax.incremental_update(params, mean, 1 - DECAY)


def pair(
    seed: int = 0,
    *,
    tx: optax.GradientTransformation | None = None,
    ema: Any = None,
    steps: int = 3,
) -> dict[str, Any]:
    """Return the net of `training` with a whole training loop, and its port."""
    module = build(training.Net, seed)
    rng = np.random.default_rng(seed)
    loop = Training(
        lambda params: torch.optim.AdamW(params, lr=RATE, weight_decay=0.1),
        transformation() if tx is None else tx,
        scheduler=torch_schedule,
        total=TOTAL,
        clip=MAX_NORM,
        accumulate=MICRO,
        ema=(DECAY, average() if ema is None else ema),
    )
    return dict(
        module=module,
        fn=training.apply,
        params=training.convert(module.state_dict()),
        converter=training.convert,
        inputs=(rng.standard_normal((BATCH, FEATURES)),),
        loss=(lambda y: (y - 1.0).square().mean(), lambda y: jnp.mean((y - 1.0) ** 2)),
        optimizer=loop,
        steps=steps,
    )


CONFIGURATIONS: dict[str, dict[str, Any]] = {"default": {}}


def planted(name: str, about: str, *, cause: str, unseen: bool = False, **plant: Any) -> Bug:
    return Bug(
        name, "updates", "*", silent=True, unseen=unseen, plant=plant, about=about, cause=cause
    )


BUGS: tuple[Bug, ...] = (
    planted(
        "warm_up_from_zero",
        "The warm-up starts at zero instead of a tenth of the rate.",
        tx=transformation(schedule(start=0.0)),
        cause=r"starts at 0|first step is 0 times|first in step 1 .* 0\.001 and JAX's is 0 ",
    ),
    planted(
        "warm_up_longer",
        "The warm-up is one step longer.",
        tx=transformation(schedule(warm_up=WARM_UP + 1)),
        cause=r"warm-up|longer|first in step 2 .* 0\.004 and JAX's is 0\.00325 ",
    ),
    planted(
        "decay_to_zero",
        "The cosine decays to zero instead of a tenth of the rate.",
        tx=transformation(schedule(end=0.0)),
        unseen=True,
        cause=r"eta_min|decays to 0|first in step 5 .* 0\.00992338 and JAX's is 0\.00991487 ",
    ),
    planted(
        "decay_too_long",
        "The cosine's length does not subtract the warm-up.",
        tx=transformation(schedule(total=TOTAL + WARM_UP)),
        unseen=True,
        cause=r"longer|T_max|first in step 5 .* 0\.00992338 and JAX's is 0\.0099446 ",
    ),
    planted(
        "clip_after_adamw",
        "The step is clipped instead of the gradient.",
        tx=transformation(clip_last=True),
        cause="update is clipped instead of the gradient|gradients are not clipped",
    ),
    planted(
        "clip_by_other_norm",
        "The maximum norm is 1.",
        tx=transformation(max_norm=1.0),
        cause=r"clipped to the norm 1\b",
    ),
    planted(
        "accumulated_sum",
        "The micro-batches are summed; torch's loop averages them.",
        tx=transformation(mean=False),
        cause="summed|sum of the micro-batches",
    ),
    planted(
        "not_accumulated",
        "Each micro-batch makes a step.",
        tx=transformation(every=1),
        cause="updates the weights at each micro-batch",
    ),
    planted(
        "average_exchanged",
        "The average's decay is 0.1.",
        ema=average(1 - DECAY),
        cause=r"decay of the average is 0\.1\b",
    ),
    planted(
        "average_from_start",
        "The average starts at the initial weights; torch's starts after the first step.",
        ema=from_start,
        cause="first average includes the initial weights",
    ),
)

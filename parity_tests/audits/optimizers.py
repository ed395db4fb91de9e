"""One record per optimizer; the tests, benchmarks and difference tables loop over the records.

To add an optimizer, write `jaxgrad/optim/_x.py`, its line in `jaxgrad/optim/__init__.py`, a record
here, `tests/jaxgrad/optim/test_x.py`, and a case with its reference (`parity_tests/cases/
optimizers.py`, `torch_ref/optimizers.py`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import optax
import torch

from jaxgrad import optim


Options = Mapping[str, Any]
SAME = "the same numbers, up to rounding"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Counterpart:
    """The obvious optax choice for one configuration of an optimizer.

    Args:
        options: torch's options.
        optax: The optax expression, as shown in the table of differences.
        make: Maps a learning rate to the optax transformation.
        difference: The largest difference of the parameters after 100 steps, relative to the
            largest displacement; measured with torch 2.13 and optax 0.2.8.
        why: The reason for the difference.
        same_work: The benchmark row's name, if one step does the same work in both frameworks.
        shapes: The parameters' shapes, if the default shapes do not apply.
    """

    options: Options = dataclasses.field(default_factory=dict)
    optax: str
    make: Callable[[float], Any]
    difference: float = 0.0
    why: str = SAME
    same_work: str | None = None
    shapes: Sequence[tuple[int, ...]] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Optimizer:
    """One of torch's optimizers, and everything that is compared for it.

    Args:
        torch: torch's class.
        make: The factory in `jaxgrad.optim`.
        configurations: Options for which 100 steps are compared with torch.
        representative: The options for tests that run a single configuration; they execute as much
            of the update rule as possible.
        choices: The values that the fuzz test draws from, for each option; a function is called
            with the random generator.
        valid: A predicate that is true if torch accepts the drawn options together.
        invalid: Options that torch's constructor rejects.
        counterparts: optax's counterparts.
        elementwise: Whether the rule acts on single elements, so that `exact=True` reproduces every
            bit. The others sum over elements, in an order that XLA chooses.
    """

    torch: type[torch.optim.Optimizer]
    make: Callable[..., optim.Transformation]
    configurations: Sequence[Options]
    representative: Options
    choices: Mapping[str, Sequence[Any]]
    valid: Callable[[Options], bool] = lambda options: True
    invalid: Sequence[Options]
    counterparts: Sequence[Counterpart] = ()
    elementwise: bool = True

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw options, without the learning rate."""
        while True:
            values = {k: v[int(rng.integers(len(v)))] for k, v in self.choices.items()}
            options = {k: v(rng) if callable(v) else v for k, v in values.items()}
            if self.valid(options):
                return options


def uniform(low: Any, high: Any) -> Callable[[np.random.Generator], Any]:
    """Return a function that draws a number, or a tuple of numbers for tuples of bounds."""

    def draw(rng: np.random.Generator) -> Any:
        value = rng.uniform(low, high)
        return tuple(map(float, value)) if np.ndim(value) else float(value)

    return draw


def log_uniform(low: float, high: float) -> Callable[[np.random.Generator], float]:
    """Return a function that draws a power of ten with an exponent between the bounds."""
    return lambda rng: float(10 ** rng.uniform(low, high))


def integers(low: int, high: int) -> Callable[[np.random.Generator], int]:
    """Return a function that draws an integer, at most `high`."""
    return lambda rng: int(rng.integers(low, high + 1))


BETAS = ((0.9, 0.999), (0.0, 0.0), (0.5, 0.5), uniform((0.0, 0.0), (0.999, 0.999)))
DECAY = (0, 0.0, uniform(0, 0.2))
EPS = (1e-8, 1e-3, 1e-10)
EITHER = (True, False)

OPTIMIZERS: dict[str, Optimizer] = {
    "sgd": Optimizer(
        torch=torch.optim.SGD,
        make=optim.sgd,
        configurations=[
            {},
            dict(weight_decay=0.1),
            dict(maximize=True),
            dict(momentum=0.9),
            dict(momentum=0.9, dampening=0.3),
            dict(momentum=0.9, nesterov=True),
            dict(momentum=0.5, dampening=-0.2, weight_decay=0.01, maximize=True),
            dict(momentum=0.8, nesterov=True, weight_decay=0.05, lr=0.3),
        ],
        representative=dict(lr=0.1, momentum=0.9, dampening=0.2, weight_decay=0.1),
        choices=dict(
            maximize=EITHER,
            weight_decay=DECAY,
            momentum=(0, 0.9, uniform(0, 1)),
            nesterov=EITHER,
            dampening=(0, 0.5, uniform(-1, 1)),
        ),
        valid=lambda o: not o["nesterov"] or (o["momentum"] > 0 and o["dampening"] == 0),
        invalid=[
            dict(lr=-0.1),
            dict(weight_decay=-0.5),
            dict(momentum=-0.1),
            dict(nesterov=True),
            dict(nesterov=True, momentum=0.9, dampening=0.1),
            dict(fused=True, differentiable=True),
        ],
        counterparts=[
            Counterpart(optax="sgd", make=optax.sgd, same_work="sgd"),
            Counterpart(
                options=dict(momentum=0.9),
                optax="sgd(momentum=0.9)",
                make=lambda lr: optax.sgd(lr, 0.9),
                same_work="sgd, momentum",
            ),
            Counterpart(
                options=dict(momentum=0.9, weight_decay=0.1),
                optax="chain(add_decayed_weights, sgd)",
                make=lambda lr: optax.chain(optax.add_decayed_weights(0.1), optax.sgd(lr, 0.9)),
            ),
            Counterpart(
                options=dict(momentum=0.9, nesterov=True),
                optax="sgd(nesterov=True)",
                make=lambda lr: optax.sgd(lr, 0.9, nesterov=True),
                same_work="sgd, nesterov",
            ),
            Counterpart(
                options=dict(momentum=0.9, dampening=0.3),
                optax="chain(scale(1 - dampening), sgd)",
                make=lambda lr: optax.chain(optax.scale(0.7), optax.sgd(lr, 0.9)),
                difference=0.0313,
                why="torch does not dampen the first gradient, which becomes the first buffer",
            ),
            Counterpart(
                options=dict(maximize=True),
                optax="sgd",
                make=optax.sgd,
                difference=2.0,
                why="optax has no `maximize`: negate the gradient before weight decay is added",
            ),
        ],
    ),
    "adam": Optimizer(
        torch=torch.optim.Adam,
        make=optim.adam,
        configurations=[
            {},
            dict(betas=(0.4, 0.7)),
            dict(eps=1e-2),
            dict(weight_decay=0.1),
            dict(weight_decay=0.1, decoupled_weight_decay=True),
            dict(amsgrad=True),
            dict(maximize=True),
            dict(betas=(0.0, 0.5), eps=0.0, amsgrad=True, weight_decay=0.03, maximize=True),
        ],
        representative=dict(lr=0.03, amsgrad=True, weight_decay=0.1),
        choices=dict(
            maximize=EITHER,
            weight_decay=DECAY,
            betas=BETAS,
            eps=EPS,
            amsgrad=EITHER,
            decoupled_weight_decay=EITHER,
        ),
        invalid=[
            dict(lr=-0.1),
            dict(weight_decay=-0.5),
            dict(eps=-1e-3),
            dict(betas=(1.0, 0.9)),
            dict(betas=(0.9, -0.1)),
            dict(fused=True, foreach=True),
        ],
        counterparts=[
            Counterpart(optax="adam", make=optax.adam, same_work="adam"),
            Counterpart(
                options=dict(weight_decay=0.1),
                optax="adamw(weight_decay)",
                make=lambda lr: optax.adamw(lr, weight_decay=0.1),
                difference=1.194,
                why="torch's Adam adds the decay to the gradient; AdamW decays the parameters",
            ),
            Counterpart(
                options=dict(weight_decay=0.1),
                optax="chain(add_decayed_weights, adam)",
                make=lambda lr: optax.chain(optax.add_decayed_weights(0.1), optax.adam(lr)),
            ),
            Counterpart(
                options=dict(amsgrad=True),
                optax="amsgrad",
                make=optax.amsgrad,
                difference=0.4265,
                why="torch takes the maximum of raw second moments, optax of corrected ones",
                same_work="adam, amsgrad",
            ),
        ],
    ),
    "adamw": Optimizer(
        torch=torch.optim.AdamW,
        make=optim.adamw,
        configurations=[
            {},
            dict(amsgrad=True, weight_decay=0.2),
            dict(betas=(0.8, 0.99), maximize=True),
        ],
        representative=dict(lr=0.03),
        choices=dict(maximize=EITHER, weight_decay=DECAY, betas=BETAS, eps=EPS, amsgrad=EITHER),
        invalid=[
            dict(lr=-0.1),
            dict(weight_decay=-0.5),
            dict(eps=-1e-3),
            dict(betas=(1.0, 0.9)),
            dict(betas=(0.9, -0.1)),
        ],
        counterparts=[
            Counterpart(
                optax="adamw",
                make=optax.adamw,
                difference=0.0611,
                why="the default weight decay is 1e-2 in torch and 1e-4 in optax",
                same_work="adamw",
            ),
            Counterpart(
                options=dict(weight_decay=0.1),
                optax="adamw(weight_decay)",
                make=lambda lr: optax.adamw(lr, weight_decay=0.1),
            ),
        ],
    ),
    "adamax": Optimizer(
        torch=torch.optim.Adamax,
        make=optim.adamax,
        configurations=[
            {},
            dict(betas=(0.3, 0.6), eps=1e-3),
            dict(weight_decay=0.1),
            dict(maximize=True),
        ],
        representative=dict(lr=0.03),
        choices=dict(maximize=EITHER, weight_decay=DECAY, betas=BETAS, eps=EPS),
        invalid=[
            dict(lr=-0.1),
            dict(weight_decay=-0.5),
            dict(eps=-1e-3),
            dict(betas=(1.0, 0.9)),
            dict(betas=(0.9, -0.1)),
        ],
        counterparts=[Counterpart(optax="adamax", make=optax.adamax, same_work="adamax")],
    ),
    "nadam": Optimizer(
        torch=torch.optim.NAdam,
        make=optim.nadam,
        configurations=[
            {},
            dict(betas=(0.5, 0.8), eps=1e-3),
            dict(betas=(0.8, 0.99)),  # `mu_product` becomes subnormal
            dict(momentum_decay=0.1),
            dict(weight_decay=0.1),
            dict(weight_decay=0.1, decoupled_weight_decay=True, maximize=True),
        ],
        representative=dict(lr=0.03, weight_decay=0.1, decoupled_weight_decay=True),
        choices=dict(
            maximize=EITHER,
            weight_decay=DECAY,
            betas=BETAS,
            eps=EPS,
            decoupled_weight_decay=EITHER,
            momentum_decay=(4e-3, 0.0, uniform(0, 0.5)),
        ),
        invalid=[
            dict(lr=-0.1),
            dict(weight_decay=-0.5),
            dict(eps=-1e-3),
            dict(betas=(1.0, 0.9)),
            dict(betas=(0.9, -0.1)),
            dict(momentum_decay=-1.0),
        ],
        counterparts=[
            Counterpart(
                optax="nadam",
                make=optax.nadam,
                difference=0.1269,
                why="torch schedules the momentum, and corrects the bias by the product of momenta",
                same_work="nadam",
            )
        ],
    ),
    "radam": Optimizer(
        torch=torch.optim.RAdam,
        make=optim.radam,
        configurations=[
            {},
            dict(betas=(0.7, 0.8), eps=1e-3),
            dict(weight_decay=0.1),
            dict(weight_decay=0.1, decoupled_weight_decay=True, maximize=True),
        ],
        representative=dict(lr=0.03, betas=(0.8, 0.9)),
        choices=dict(
            maximize=EITHER,
            weight_decay=DECAY,
            betas=BETAS,
            eps=EPS,
            decoupled_weight_decay=EITHER,
        ),
        invalid=[
            dict(lr=-0.1),
            dict(weight_decay=-0.5),
            dict(eps=-1e-3),
            dict(betas=(1.0, 0.9)),
            dict(betas=(0.9, -0.1)),
        ],
        counterparts=[
            Counterpart(
                optax="radam",
                make=optax.radam,
                difference=7.3e-07,
                why="torch adds eps before the second moment's bias correction",
                same_work="radam",
            )
        ],
    ),
    "rmsprop": Optimizer(
        torch=torch.optim.RMSprop,
        make=optim.rmsprop,
        configurations=[
            {},
            dict(alpha=0.6, eps=1e-3),
            dict(momentum=0.9),
            dict(centered=True),
            dict(weight_decay=0.1),
            dict(centered=True, momentum=0.5, weight_decay=0.1, alpha=0.9, maximize=True),
        ],
        representative=dict(lr=0.03, centered=True, momentum=0.9),
        choices=dict(
            maximize=EITHER,
            weight_decay=DECAY,
            eps=EPS,
            momentum=(0, 0.9, uniform(0, 1)),
            centered=EITHER,
            alpha=(0.99, 0.5, uniform(0.3, 1)),
        ),
        invalid=[
            dict(lr=-0.1),
            dict(weight_decay=-0.5),
            dict(eps=-1e-3),
            dict(alpha=-1.0),
            dict(momentum=-1.0),
        ],
        counterparts=[
            Counterpart(
                optax="rmsprop",
                make=optax.rmsprop,
                difference=0.5515,
                why="the default decay is 0.99 in torch and 0.9 in optax, whose eps is in the root",
            ),
            Counterpart(
                optax="rmsprop(decay=0.99)",
                make=lambda lr: optax.rmsprop(lr, 0.99),
                difference=0.1479,
                why="torch adds eps outside the root, optax inside",
            ),
            Counterpart(
                optax="rmsprop(decay=0.99, eps_in_sqrt=False)",
                make=lambda lr: optax.rmsprop(lr, 0.99, eps_in_sqrt=False),
                same_work="rmsprop",
            ),
            Counterpart(
                options=dict(centered=True),
                optax="rmsprop(decay=0.99, eps_in_sqrt=False, centered=True)",
                make=lambda lr: optax.rmsprop(lr, 0.99, eps_in_sqrt=False, centered=True),
            ),
            Counterpart(
                options=dict(centered=True, momentum=0.9),
                optax="rmsprop(decay=0.99, eps_in_sqrt=False, centered=True, momentum=0.9)",
                make=lambda lr: optax.rmsprop(
                    lr, 0.99, eps_in_sqrt=False, centered=True, momentum=0.9
                ),
                same_work="rmsprop, centered",
            ),
        ],
    ),
    "adagrad": Optimizer(
        torch=torch.optim.Adagrad,
        make=optim.adagrad,
        configurations=[
            {},
            dict(lr_decay=0.1),
            dict(initial_accumulator_value=0.3),
            dict(weight_decay=0.1, eps=1e-2, maximize=True),
        ],
        representative=dict(lr=0.1, lr_decay=0.1, initial_accumulator_value=0.2),
        choices=dict(
            maximize=EITHER,
            weight_decay=DECAY,
            eps=EPS,
            lr_decay=(0, 0.2),
            initial_accumulator_value=(0, 0.1, 3.0),
        ),
        invalid=[
            dict(lr=-0.1),
            dict(weight_decay=-0.5),
            dict(eps=-1e-3),
            dict(lr_decay=-1.0),
            dict(initial_accumulator_value=-1.0),
        ],
        counterparts=[
            Counterpart(
                optax="adagrad",
                make=optax.adagrad,
                difference=0.8826,
                why="the accumulator starts at 0 in torch and at 0.1 in optax, whose eps is in the "
                "root",
                same_work="adagrad",
            ),
            Counterpart(
                options=dict(lr_decay=0.1),
                optax="adagrad(initial_accumulator_value=0)",
                make=lambda lr: optax.adagrad(lr, 0.0, 1e-10),
                difference=1.123,
                why="optax has no lr_decay",
            ),
        ],
    ),
    "adadelta": Optimizer(
        torch=torch.optim.Adadelta,
        make=optim.adadelta,
        configurations=[
            {},
            dict(rho=0.5, eps=1e-3),
            dict(weight_decay=0.1, maximize=True, lr=0.5),
        ],
        representative=dict(lr=1.0),
        choices=dict(maximize=EITHER, weight_decay=DECAY, eps=EPS, rho=(0.9, 0.3, uniform(0, 1))),
        invalid=[dict(lr=-0.1), dict(weight_decay=-0.5), dict(eps=-1e-3), dict(rho=1.5)],
        counterparts=[Counterpart(optax="adadelta", make=optax.adadelta, same_work="adadelta")],
    ),
    "rprop": Optimizer(
        torch=torch.optim.Rprop,
        make=optim.rprop,
        configurations=[{}, dict(etas=(0.3, 1.5)), dict(step_sizes=(1e-3, 0.05), maximize=True)],
        representative=dict(lr=0.03),
        choices=dict(
            maximize=EITHER,
            etas=(uniform((0.05, 1.01), (0.95, 2.0)),),
            step_sizes=((1e-6, 50), (1e-3, 1e-2), (0, 1)),
        ),
        invalid=[dict(lr=-0.1), dict(etas=(1.5, 1.2)), dict(etas=(0.5, 0.9))],
        counterparts=[
            Counterpart(
                optax="rprop",
                make=optax.rprop,
                difference=0.2704,
                why="optax's update uses the step size of the previous step",
                same_work="rprop",
            )
        ],
    ),
    "asgd": Optimizer(
        torch=torch.optim.ASGD,
        make=optim.asgd,
        configurations=[
            {},
            dict(lambd=0.1),
            dict(alpha=0.4, t0=10.0),
            dict(weight_decay=0.1, t0=0.0, maximize=True),
        ],
        representative=dict(lr=0.03, t0=2.0),
        choices=dict(
            maximize=EITHER,
            weight_decay=DECAY,
            lambd=(1e-4, 0.0, 0.3),
            alpha=(0.75, 0.3),
            t0=(1e6, 0, 7.5),
        ),
        invalid=[dict(lr=-0.1), dict(weight_decay=-0.5)],
        counterparts=[
            Counterpart(
                options=dict(lambd=0.1),
                optax="sgd",
                make=optax.sgd,
                difference=0.2566,
                why="optax has no ASGD: torch's learning rate falls, and the parameters decay and "
                "are averaged",
            )
        ],
    ),
    "adafactor": Optimizer(
        torch=torch.optim.Adafactor,
        make=optim.adafactor,
        elementwise=False,
        configurations=[
            {},
            dict(beta2_decay=-0.3),
            dict(eps=(1e-2, 1e-1)),
            dict(eps=(0.0, 0.0)),
            dict(d=2.5),
            dict(weight_decay=0.1),
            dict(maximize=True),
            dict(
                lr=1.0, beta2_decay=0.0, eps=(1e-30, 1e-3), d=1.5, weight_decay=0.01, maximize=True
            ),
        ],
        representative=dict(lr=0.1),
        choices=dict(
            beta2_decay=(-0.8, -0.1, -1.5, 0.0),
            eps=((None, 1e-3), (1e-3, 1e-2), (0.0, 0.0), (1e-30, 1e-3)),
            d=(1.0, 1.5, 3.0),
            weight_decay=(0.0, 0.1),
            maximize=EITHER,
        ),
        invalid=[
            dict(lr=-1.0),
            dict(beta2_decay=0.5),
            dict(eps=(-1.0, 1e-3)),
            dict(eps=(None, -1e-3)),
            dict(d=0.5),
            dict(weight_decay=-0.1),
        ],
        counterparts=[
            Counterpart(
                optax="adafactor",
                make=optax.adafactor,
                difference=0.08357,
                why="relative step, decay exponent and clipping differ; optax factors only large "
                "matrices",
            )
        ],
    ),
    "muon": Optimizer(
        torch=torch.optim.Muon,
        make=optim.muon,
        elementwise=False,
        configurations=[
            {},
            dict(weight_decay=0.0),
            dict(momentum=0.3),
            dict(nesterov=False),
            dict(ns_coefficients=(2.0, -1.5, 0.5)),
            dict(eps=1e-2),
            dict(ns_steps=3),
            dict(adjust_lr_fn="original"),
            dict(adjust_lr_fn="match_rms_adamw"),
            dict(momentum=0.0, nesterov=False, ns_steps=8, adjust_lr_fn="match_rms_adamw"),
        ],
        # "original" would scale a transposed matrix differently
        representative=dict(lr=0.1, adjust_lr_fn="match_rms_adamw"),
        choices=dict(
            weight_decay=(0.1, 0.0, 0.5),
            momentum=(0.95, 0.0, 0.5, 0.99),
            nesterov=EITHER,
            eps=(1e-7, 1e-1),
            ns_steps=(5, 1, 3),
            adjust_lr_fn=(None, "original", "match_rms_adamw"),
        ),
        invalid=[
            dict(lr=-1.0),
            dict(momentum=-0.1),
            dict(weight_decay=-0.1),
            dict(adjust_lr_fn="mine"),
        ],
        counterparts=[
            Counterpart(
                optax="contrib.muon(weight_decay=0.1)",
                make=lambda lr: optax.contrib.muon(lr, weight_decay=0.1),
                difference=0.3806,
                why="torch iterates in bfloat16, treats rows as outputs, and averages differently",
                shapes=[(7, 5), (12, 4), (4, 12)],
            )
        ],
    ),
    "sparse_adam": Optimizer(
        torch=torch.optim.SparseAdam,
        make=optim.sparse_adam,
        elementwise=False,  # bit-exact too, but tested on sparse rows
        configurations=[
            {},
            dict(betas=(0.5, 0.8)),
            dict(eps=1e-2),
            dict(maximize=True),
            dict(betas=(0.0, 0.3), eps=1e-3, maximize=True),
        ],
        representative=dict(lr=0.1),
        choices=dict(
            betas=(uniform((0.0, 0.0), (0.999, 0.999)),),
            eps=(log_uniform(-10, -2),),
            maximize=EITHER,
        ),
        invalid=[dict(lr=0.0), dict(eps=0.0), dict(betas=(1.0, 0.9)), dict(betas=(0.9, -0.1))],
    ),
    "lbfgs": Optimizer(
        torch=torch.optim.LBFGS,
        make=optim.lbfgs,
        elementwise=False,
        configurations=[
            dict(lr=0.1),
            dict(line_search_fn="strong_wolfe"),
            dict(lr=0.3, max_iter=7, history_size=3),
            dict(line_search_fn="strong_wolfe", max_iter=4, history_size=5),
            dict(line_search_fn="strong_wolfe", max_eval=6),
            dict(line_search_fn="strong_wolfe"),  # the second options on a different problem
            dict(line_search_fn="strong_wolfe", lr=0.01, max_eval=2, max_iter=5),
            dict(lr=1e-3, tolerance_grad=1.0, tolerance_change=1e-4, max_iter=1),
        ],
        representative=dict(lr=0.1, max_iter=3, history_size=4),
        choices=dict(
            max_iter=(integers(1, 11),),
            history_size=(integers(1, 7),),
            tolerance_grad=(log_uniform(-9, -3),),
            tolerance_change=(log_uniform(-12, -4),),
            max_eval=(None, integers(1, 19)),
            line_search_fn=(None, "strong_wolfe"),
        ),
        invalid=[dict(lr=-1.0)],
    ),
}
ELEMENTWISE = {name: record for name, record in OPTIMIZERS.items() if record.elementwise}

"""One row for each convention: where torch and JAX part, what both answer, and the remedy.

`tests/jaxgrad/parity/lint/test_lint.py` runs both libraries at each row's point and at an
ordinary one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jaxgrad.parity.lint import places as at
from jaxgrad.parity.lint.places import Place


class Rule(NamedTuple):
    place: Place
    where: str  # in words
    torch: str  # its gradient there
    jax: str
    remedy: str


_TIES = "where the largest is there more than once"
_RAISES = "an error"
_INDEX = "with an index out of range"
_BY_HAND = "jaxgrad.functional.relu (0 at the bound) or clamp (1)"
_CLAMP = "jaxgrad.functional.clamp"
_OVERLOAD = "jaxgrad.functional.max(x, dim) or min(x, dim); amax and amin split as JAX does"
_STOP = "jax.lax.stop_gradient, as no gradient is meant"
_CHECK = "look at the indices (jaxgrad.functional.gather and take_along_dim raise as torch does)"
_LOWER = "torch reads the lower triangle: pass jnp.tril(a) + jnp.tril(a, -1).mT"
_FINITE = "torch stops here: look at jnp.isfinite of the result"

_WIDER = Rule(
    at.widened_by_a_number,
    "made wider by a 0-d array",
    "in the array's type",
    "in the wider type",
    "cast the 0-d array, or multiply by a Python number",
)
_OUTSIDE = {
    "gather": at.gathered_outside,
    "dynamic_slice": at.sliced_outside(1, -1),
    "dynamic_update_slice": at.sliced_outside(2, 1),
    "scatter": at.scattered_outside,
    "scatter-add": at.scattered_outside,
    "scatter_add": at.scattered_outside,
}

# `name` is a primitive, `name()` a function of JAX's own, which is then not looked into.
RULES: dict[str, tuple[Rule, ...]] = {
    "abs": (Rule(at.real_zero, "at 0", "0", "1", "jaxgrad.functional.abs"),),
    "max": (Rule(at.at_a_constant, "at a constant", "0 or 1", "0.5", _BY_HAND),),
    "min": (Rule(at.at_a_constant, "at a constant", "0 or 1", "0.5", _BY_HAND),),
    "clamp": (Rule(at.at_a_bound(1), "at a bound", "1", "0", _CLAMP),),
    "clip()": (Rule(at.at_a_bound(0), "at a bound", "1", "0.5", _CLAMP),),
    "reduce_max": (Rule(at.tied_in_one_axis, _TIES, "all to one", "split evenly", _OVERLOAD),),
    "reduce_min": (
        Rule(
            at.tied_in_one_axis,
            "where the smallest is there more than once",
            "all to one",
            "split evenly",
            _OVERLOAD,
        ),
    ),
    "cummax": (
        Rule(at.tied_so_far, "that tie", "to the later", "shared", "jaxgrad.functional.cummax"),
    ),
    "cummin": (
        Rule(at.tied_so_far, "that tie", "to the later", "shared", "jaxgrad.functional.cummin"),
    ),
    "rev": (
        Rule(
            at.reversed_sort,
            "that tie in a descending sort",
            "in their order",
            "in the reverse order",
            "jaxgrad.functional.sort(x, descending=True)",
        ),
    ),
    "top_k": (
        Rule(at.tied_in_top, "that tie", "to others", "to the first", "jaxgrad.functional.topk"),
    ),
    "median()": (
        Rule(
            at.median_differs,
            "of an even number, or with ties",
            "to the lower one; of ties shared",
            "half to each; of ties to one",
            "jaxgrad.functional.median",
        ),
    ),
    "sqrt": (
        Rule(
            at.norm_by_hand,
            "that are the norm of a zero vector",
            "0",
            "nan",
            "jaxgrad.functional.norm (by hand torch has nan too)",
        ),
    ),
    "norm()": (
        Rule(at.zero_norm, "of a zero vector", "0", "nan", "jaxgrad.functional.norm"),
        Rule(at.zero_entry_of_p1, "at 0 of a 1-norm", "0", "1", "jaxgrad.functional.norm"),
        Rule(at.zero_largest, "of a zero vector", "0", "a share", "jaxgrad.functional.norm"),
    ),
    "_std()": (Rule(at.out_is_zero, "of equal values", "0", "nan", "jaxgrad.functional.std"),),
    "atan2": (
        Rule(at.where(at.is_zero, at.is_zero), "at (0, 0)", "0", "nan", "jaxgrad.functional.atan2"),
    ),
    "hypot()": (
        Rule(
            at.where(at.is_zero, at.is_zero),
            "at (0, 0)",
            "nan",
            "0.5",
            "none is needed, or jaxgrad.functional.hypot",
        ),
    ),
    "pow": (
        Rule(
            at.moved(0, at.where(at.is_zero, at.is_zero)),
            "at 0 to the power 0",
            "0",
            "nan",
            "jaxgrad.functional.pow",
        ),
        Rule(
            at.moved(1, at.where(at.is_zero, lambda y: y < 0)),
            "at 0 to a negative power, by the power",
            "-inf",
            "nan",
            "jaxgrad.functional.pow",
        ),
        _WIDER,
    ),
    "xlogy()": (
        Rule(
            at.moved(0, at.where(at.is_zero, at.is_zero)),
            "at (0, 0)",
            "0",
            "-inf",
            "jaxgrad.functional.xlogy",
        ),
    ),
    "xlog1py()": (
        Rule(
            at.moved(0, at.where(at.is_zero, lambda y: y == -1)),
            "at (0, -1)",
            "0",
            "-inf",
            "jaxgrad.functional.xlogy(x, 1 + y)",
        ),
    ),
    "logaddexp()": (
        Rule(
            at.where(np.isposinf, np.isposinf),
            "at (inf, inf)",
            "nan",
            "1",
            "none is needed, or jaxgrad.functional.logaddexp",
        ),
    ),
    "lgamma": (
        Rule(
            at.lgamma_at_zero,
            "at 0",
            "-inf",
            "nan",
            "keep the argument away from 0, as it is inf",
        ),
    ),
    "leaky_relu()": (
        Rule(at.where(at.is_zero), "at 0", "the slope", "1", "jaxgrad.functional.leaky_relu"),
    ),
    "hard_tanh()": (
        Rule(
            at.where(lambda x: np.abs(x) == 1),
            "at -1 or 1",
            "0",
            "1",
            "jaxgrad.functional.hardtanh",
        ),
    ),
    "fmax()": (
        Rule(at.equal, "that tie", "to the first", "to the second", "jaxgrad.functional.fmax"),
    ),
    "fmin()": (
        Rule(at.equal, "that tie", "to the first", "to the second", "jaxgrad.functional.fmin"),
    ),
    "copysign()": (
        Rule(
            at.moved(0, at.where(at.is_zero)),
            "at 0",
            "0",
            "1 or -1",
            "jaxgrad.functional.copysign",
        ),
    ),
    "floor_divide()": (Rule(at.always, "at all", _RAISES, "0", _STOP),),
    "heaviside()": (Rule(at.always, "at all", _RAISES, "0", _STOP),),
    "sign": (
        Rule(at.is_complex, "that are complex", "not 0", "0", "x / jaxgrad.functional.abs(x)"),
    ),
    "det()": (
        Rule(
            at.rank_is_one_less,
            "of a singular matrix",
            "0",
            "its cofactors",
            "none is needed: JAX's is right",
        ),
    ),
    "slogdet()": (
        Rule(
            at.minus_infinity,
            "of a singular matrix",
            "infinite",
            "infinite, of the other sign",
            "keep the matrix away from singular ones",
        ),
    ),
    "inv()": (Rule(at.became_nonfinite, "of a singular matrix", _RAISES, "inf or nan", _FINITE),),
    "solve()": (Rule(at.became_nonfinite, "of a singular matrix", _RAISES, "inf or nan", _FINITE),),
    "cholesky()": (
        Rule(at.not_symmetric, "that are not symmetric", "of the lower half", "of both", _LOWER),
        Rule(at.became_nonfinite, "not positive definite", _RAISES, "nan", _FINITE),
    ),
    "eigh()": (
        Rule(at.not_symmetric, "that are not symmetric", "of the lower half", "of both", _LOWER),
    ),
    **{
        name: (Rule(place, _INDEX, _RAISES, "of another place, or 0", _CHECK),)
        for name, place in _OUTSIDE.items()
    },
    **dict.fromkeys(("add", "sub", "mul", "div"), (_WIDER,)),
}
RULES["scatter"] += (
    Rule(
        at.scattered_twice,
        "that are overwritten, or overwrite",
        "1 to each source",
        "0 to the overwritten",
        "jaxgrad.functional.scatter; or make the indices unique",
    ),
)

# These are looked at inside JAX's own functions too.
DEEP = (*_OUTSIDE, "rev", *(f"{name}()" for name in ("solve", "inv")))

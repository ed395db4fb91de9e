"""A table of the conventions in which torch and JAX differ, with both gradients and a remedy.

`tests/jaxgrad/parity/lint/test_rules.py` runs both frameworks on inputs to which each rule applies
and on inputs to which it does not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jaxgrad._core.torch_versions import BOUND_OF_CLAMP, NEWEST, TIES_OF_FMAX, Change
from jaxgrad.parity.lint import places as at
from jaxgrad.parity.lint.places import Place


class Rule(NamedTuple):
    place: Place
    where: str  # description of `place`
    torch: str  # torch's gradient at these elements
    jax: str
    remedy: str
    since: Change | None = None  # the rule holds for the versions of torch with this change
    before: Change | None = None  # or for those without it; its remedy is then in `functional.at`

    def holds(self, torch: str) -> bool:
        """Return whether the rule applies to a version of torch."""
        if self.since is not None:
            return self.since.holds(torch)
        return self.before is None or not self.before.holds(torch)


_MAX_TIES, _MIN_TIES = "where the maximum is tied", "where the minimum is tied"
_RAISES = "an error"
_NO_GRADIENT = "that torch cannot differentiate"
_INDEX = "with an index out of range"
_CLAMP = "jaxgrad.functional.clamp"
_EQUAL = "equal to the constant"
_AT_A_CONSTANT = tuple(
    Rule(at.at_a_constant, _EQUAL, torch, "0.5", "jaxgrad.functional.relu or clamp", *when)
    for torch, *when in (
        ("relu 0, clamp 0", BOUND_OF_CLAMP),
        ("relu 0, clamp 1", None, BOUND_OF_CLAMP),
    )
)
_TIES = (
    "all to one in max(x, dim) and min(x, dim)",
    "split evenly",
    "jaxgrad.functional.max(x, dim) or min(x, dim); "
    "torch's max(x), min(x), amax and amin split ties as JAX does",
)
_STOP = "jax.lax.stop_gradient, because no gradient is intended"
_CHECK = "check the indices (jaxgrad.functional.gather and take_along_dim raise as torch does)"
_FINITE = "check jnp.isfinite of the result; torch raises an error here"

_NOT_SYMMETRIC = Rule(
    at.not_symmetric,
    "that are not symmetric",
    "in the lower triangle only",
    "in both triangles",
    "torch reads only the lower triangle: pass jnp.tril(a) + jnp.tril(a, -1).mT",
)
_PROMOTED = Rule(
    at.promoted_by_a_scalar,
    "promoted by a 0-d array",
    "in the array's dtype",
    "in the promoted dtype",
    "cast the 0-d array, or multiply by a Python number",
)
_BOTH_ZERO = at.where(at.is_zero, at.is_zero)
_OUTSIDE = {
    "gather": at.gathered_outside,
    "dynamic_slice": at.sliced_outside(1, -1),
    "dynamic_update_slice": at.sliced_outside(2, 1),
    "scatter": at.scattered_outside,
    "scatter-add": at.scattered_outside,
    "scatter_add": at.scattered_outside,
}

# `name` is a primitive; `name()` is one of JAX's own functions, whose body is then skipped.
RULES: dict[str, tuple[Rule, ...]] = {
    "abs": (Rule(at.real_zero, "at 0", "0", "1", "jaxgrad.functional.abs"),),
    "max": _AT_A_CONSTANT,
    "min": _AT_A_CONSTANT,
    "clamp": (Rule(at.at_a_bound(1), "at a bound", "1", "0", _CLAMP, before=BOUND_OF_CLAMP),),
    "clip()": (
        Rule(at.at_a_bound(0), "at a bound", "0", "0.5", _CLAMP, since=BOUND_OF_CLAMP),
        Rule(at.at_a_bound(0), "at a bound", "1", "0.5", _CLAMP, before=BOUND_OF_CLAMP),
    ),
    "reduce_max": (Rule(at.tied_in_one_axis, _MAX_TIES, *_TIES),),
    "reduce_min": (Rule(at.tied_in_one_axis, _MIN_TIES, *_TIES),),
    "cummax": (
        Rule(at.tied_so_far, "that tie", "to the later one", "shared", "jaxgrad.functional.cummax"),
    ),
    "cummin": (
        Rule(at.tied_so_far, "that tie", "to the later one", "shared", "jaxgrad.functional.cummin"),
    ),
    "rev": (
        Rule(
            at.reversed_sort,
            "that tie in a descending sort",
            "ties keep their order",
            "ties are reversed",
            "jaxgrad.functional.sort(x, descending=True)",
        ),
    ),
    "top_k": (
        Rule(at.tied_in_top, "that tie", "to others", "to the first", "jaxgrad.functional.topk"),
    ),
    "median()": (
        Rule(
            at.median_differs,
            "over an even number of elements, or with ties",
            "to the lower middle element; ties share it",
            "half to each middle element; ties give it to one",
            "jaxgrad.functional.median",
        ),
    ),
    "sqrt": (
        Rule(
            at.norm_by_hand,
            "that are the norm of a zero vector",
            "0",
            "nan",
            "jaxgrad.functional.norm (the same expression in torch is nan too)",
        ),
    ),
    "norm()": (
        Rule(at.zero_norm, "of zero vectors", "0", "nan", "jaxgrad.functional.norm"),
        Rule(at.zero_entry_of_p1, "at 0 in a 1-norm", "0", "1", "jaxgrad.functional.norm"),
        Rule(at.zero_largest, "of zero vectors", "0", "split evenly", "jaxgrad.functional.norm"),
    ),
    "_std()": (Rule(at.out_is_zero, "over equal values", "0", "nan", "jaxgrad.functional.std"),),
    "atan2": (Rule(_BOTH_ZERO, "at (0, 0)", "0", "nan", "jaxgrad.functional.atan2"),),
    "hypot()": (
        Rule(
            at.hypot_at_zero,
            "at (0, 0)",
            "nan",
            "0.5",
            "none needed; jaxgrad.functional.hypot reproduces torch",
        ),
    ),
    "pow": (
        Rule(
            at.if_active(0, _BOTH_ZERO), "at 0 to the power 0", "0", "nan", "jaxgrad.functional.pow"
        ),
        Rule(
            at.if_active(1, at.where(at.is_zero, lambda y: y < 0)),
            "at 0 to a negative power, with respect to the exponent",
            "-inf",
            "nan",
            "jaxgrad.functional.pow",
        ),
        _PROMOTED,
    ),
    "xlogy()": (
        Rule(at.if_active(0, _BOTH_ZERO), "at (0, 0)", "0", "-inf", "jaxgrad.functional.xlogy"),
    ),
    "xlog1py()": (
        Rule(
            at.if_active(0, at.where(at.is_zero, lambda y: y == -1)),
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
            "none needed; jaxgrad.functional.logaddexp reproduces torch",
        ),
    ),
    "lgamma": (
        Rule(
            at.lgamma_at_zero,
            "at 0",
            "-inf",
            "nan",
            "keep the argument away from 0, where lgamma is inf",
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
    **{
        f"{name}()": tuple(
            Rule(at.equal, "that tie", torch, "to the second", f"jaxgrad.functional.{name}", *when)
            for torch, *when in (
                ("half to each", TIES_OF_FMAX),
                ("to the first", None, TIES_OF_FMAX),
            )
        )
        for name in ("fmax", "fmin")
    },
    "copysign()": (
        Rule(
            at.if_active(0, at.where(at.is_zero)),
            "at 0",
            "0",
            "1 or -1",
            "jaxgrad.functional.copysign",
        ),
    ),
    "floor_divide()": (Rule(at.always, _NO_GRADIENT, _RAISES, "0", _STOP),),
    "heaviside()": (Rule(at.always, _NO_GRADIENT, _RAISES, "0", _STOP),),
    "sign": (
        Rule(at.is_complex, "that are complex", "nonzero", "0", "x / jaxgrad.functional.abs(x)"),
    ),
    "det()": (
        Rule(
            at.rank_is_one_less,
            "of singular matrices",
            "0",
            "its cofactors",
            "none needed: JAX's gradient is right",
        ),
    ),
    "slogdet()": (
        Rule(
            at.minus_infinity,
            "of singular matrices",
            "infinite",
            "infinite, with the opposite sign",
            "keep the matrix nonsingular",
        ),
    ),
    "inv()": (Rule(at.became_nonfinite, "of singular matrices", _RAISES, "inf or nan", _FINITE),),
    "solve()": (Rule(at.became_nonfinite, "of singular matrices", _RAISES, "inf or nan", _FINITE),),
    "cholesky()": (
        _NOT_SYMMETRIC,
        Rule(at.became_nonfinite, "that are not positive definite", _RAISES, "nan", _FINITE),
    ),
    "eigh()": (_NOT_SYMMETRIC,),
    **{
        name: (Rule(place, _INDEX, _RAISES, "that of another element, or 0", _CHECK),)
        for name, place in _OUTSIDE.items()
    },
    **dict.fromkeys(("add", "sub", "mul", "div"), (_PROMOTED,)),
}
RULES["scatter"] += (
    Rule(
        at.scattered_twice,
        "that overwrite each other",
        "1 for each source",
        "0 for overwritten sources",
        "jaxgrad.functional.scatter; or make the indices unique",
    ),
)


def _of_versions(
    change: Change, place: Place, where: str, now: str, before: str
) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
    """Return the rules for the kernels of an operator with a change, and without it."""
    remedy = "jaxgrad.functional"
    newer = Rule(place, where, before, now, remedy, before=change)
    older = Rule(place, where, now, before, remedy, since=change)
    return (newer,), (older,)


# `functional._clamp` is the kernel of `functional.clamp`, and another version has another kernel.
for _name in ("clamp", "clamp_min", "clamp_max"):
    RULES[f"functional._{_name}"], RULES[f"functional._full_{_name}"] = _of_versions(
        BOUND_OF_CLAMP, at.at_a_bound(0), "at a bound", "0", "1"
    )
for _name in ("fmax", "fmin"):
    RULES[f"functional._{_name}"], RULES[f"functional._first_{_name}"] = _of_versions(
        TIES_OF_FMAX, at.equal, "that tie", "half to each", "to the first"
    )


def rules_of(torch: str) -> dict[str, tuple[Rule, ...]]:
    """Return the rules for a supported version of torch, with remedies that follow it."""
    older = "" if torch == NEWEST else f'.at("{torch}")'

    def following(rule: Rule) -> Rule:
        if rule.before is None or not older:
            return rule
        remedy = rule.remedy.replace("jaxgrad.functional", f"jaxgrad.functional{older}")
        return rule._replace(remedy=remedy)

    chosen = {
        name: tuple(following(rule) for rule in rules if rule.holds(torch))
        for name, rules in RULES.items()
    }
    return {name: rules for name, rules in chosen.items() if rules}


# These are checked inside JAX's own functions as well.
DEEP = (*_OUTSIDE, "rev", *(f"{name}()" for name in ("solve", "inv")))

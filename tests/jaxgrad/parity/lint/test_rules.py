"""Each convention in the table of `lint` holds in torch and JAX, and has a remedy that exists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.special as jsp
import numpy as np
import pytest
import torch
from jax import lax
from torch.nn import functional as F  # noqa: N812

import jaxgrad
from jaxgrad import functional
from jaxgrad._core.torch_versions import NEWEST, SUPPORTED
from jaxgrad._core.torch_versions import convention as convention_of
from jaxgrad.parity import lint
from jaxgrad.parity.lint.rules import RULES, rules_of


NAN = float("nan")
INF = float("inf")
WEIGHTS = (1.0, 2.0, 3.0)


def _set(x: Any) -> Any:
    return jnp.zeros(3).at[jnp.array([0, 0, 1])].set(x) * jnp.array(WEIGHTS)


def _torch_set(x: Any) -> Any:
    out = torch.zeros(3, dtype=x.dtype).scatter(0, torch.tensor([0, 0, 1]), x)
    return out * torch.tensor(WEIGHTS, dtype=x.dtype)


class Convention(NamedTuple):
    """A program in both frameworks, a point where their gradients differ, and an ordinary point."""

    rule: str
    jax: Callable[..., Any]
    torch: Callable[..., Any]
    point: tuple[Any, ...]
    ordinary: tuple[Any, ...]
    elements: int = 1


def convention(
    rule: str, jax_s: Any, torch_s: Any, point: Any, ordinary: Any, elements: int = 1
) -> Any:
    def many(x: Any) -> tuple[Any, ...]:
        return x if isinstance(x, tuple) else (x,)

    return Convention(rule, jax_s, torch_s, many(point), many(ordinary), elements)


T = torch


CONVENTIONS = [
    convention("abs", jnp.abs, T.abs, [0.0, -1, 0], [2.0, -1], 2),
    convention("max", lambda x: jnp.maximum(x, 0), F.relu, [0.0, 1, -1], [1.0, -1]),
    convention("max", lambda x: jnp.maximum(0.0, x), lambda x: x.clamp(min=0), [0.0, 1], [1.0, -1]),
    convention("min", lambda x: jnp.minimum(x, 1), lambda x: x.clamp(max=1), [1.0, 0], [2.0, 0]),
    convention(
        "clamp", lambda x: lax.clamp(0.0, x, 1.0), lambda x: x.clamp(0, 1), [0.0, 0.5, 1], [2.0], 2
    ),
    convention(
        "clip()", lambda x: jnp.clip(x, 0, 1), lambda x: x.clamp(0, 1), [0.0, 0.5, 1], [2.0], 2
    ),
    convention("clip()", lambda x: jnp.clip(x, min=0), lambda x: x.clamp(0), [0.0, 0.5], [-1.0]),
    convention("reduce_max", lambda x: jnp.max(x, 0), lambda x: x.max(0)[0], [1.0, 1, 0], [1.0, 2]),
    convention("reduce_min", lambda x: jnp.min(x, 0), lambda x: x.min(0)[0], [1.0, 1, 2], [1.0, 2]),
    convention("cummax", lax.cummax, lambda x: x.cummax(0)[0], [1.0, 1, 0, 2], [1.0, 0, 2]),
    convention("cummin", lax.cummin, lambda x: x.cummin(0)[0], [1.0, 1, 3, 0], [1.0, 3, 0]),
    convention(
        "rev",
        lambda x: jnp.sort(x, descending=True) * jnp.array(WEIGHTS),
        lambda x: x.sort(descending=True)[0] * torch.tensor(WEIGHTS),
        [1.0, 1, 0],
        [1.0, 2, 0],
    ),
    convention(
        "rev",
        lambda x: jnp.sort(x)[::-1] * jnp.array(WEIGHTS),
        lambda x: x.sort(descending=True)[0] * torch.tensor(WEIGHTS),
        [1.0, 1, 0],
        [1.0, 2, 0],
    ),
    convention(
        "top_k", lambda x: lax.top_k(x, 1)[0], lambda x: x.topk(1)[0], [1.0, 1, 0, 1], [1.0, 2]
    ),
    convention("median()", jnp.median, T.median, [1.0, 2, 3, 4], [1.0, 3, 2]),
    convention("median()", jnp.median, T.median, [1.0, 1, 1], [1.0, 3, 2]),
    convention(
        "sqrt",
        lambda x: jnp.sqrt(jnp.sum(x * x)),
        torch.linalg.norm,
        [0.0, 0],
        [0.0, 1],
    ),
    convention("sqrt", lambda x: jnp.sqrt(jnp.sum(x**2)), T.linalg.norm, [0.0, 0], [0.0, 1]),
    convention("norm()", jnp.linalg.norm, T.linalg.norm, [0.0, 0], [0.0, 1]),
    convention(
        "norm()",
        lambda x: jnp.linalg.norm(x, 3),
        lambda x: T.linalg.norm(x, 3),
        [0.0, 0],
        [0.0, 1],
    ),
    convention(
        "norm()",
        lambda x: jnp.linalg.norm(x, 1),
        lambda x: T.linalg.norm(x, 1),
        [0.0, 1],
        [2.0, 1],
    ),
    convention(
        "norm()",
        lambda x: jnp.linalg.norm(x, jnp.inf),
        lambda x: T.linalg.norm(x, INF),
        [0.0, 0],
        [0.0, 1],
    ),
    convention("_std()", lambda x: jnp.std(x, ddof=1), T.std, [1.0, 1], [1.0, 2]),
    convention("_std()", jnp.std, lambda x: x.std(correction=0), [1.0], [1.0, 2]),
    convention("atan2", jnp.arctan2, T.atan2, ([0.0], [0.0]), ([0.0], [1.0])),
    convention("hypot()", jnp.hypot, T.hypot, ([0.0], [0.0]), ([0.0], [1.0])),
    convention("pow", lambda x: x**0.0, lambda x: x**0.0, [0.0, 1], [2.0, 1]),
    convention("pow", jnp.power, T.pow, ([0.0, 1], [0.0, 1]), ([2.0, 0], [0.0, 2])),
    convention("pow", jnp.power, T.pow, ([0.0, 1], [-1.0, 1]), ([2.0, 0], [-1.0, 2])),
    convention("xlogy()", jsp.xlogy, T.xlogy, ([0.0], [0.0]), ([0.0], [2.0])),
    convention("xlog1py()", jsp.xlog1py, T.special.xlog1py, ([0.0], [-1.0]), ([0.0], [2.0])),
    convention("logaddexp()", jnp.logaddexp, T.logaddexp, ([INF], [INF]), ([1.0], [1.0])),
    convention("lgamma", jsp.gammaln, T.lgamma, [0.0], [1.5]),
    convention("leaky_relu()", jax.nn.leaky_relu, F.leaky_relu, [0.0, 1], [-1.0, 1]),
    convention("hard_tanh()", jax.nn.hard_tanh, F.hardtanh, [-1.0, 1, 0], [-2.0, 0.5], 2),
    convention("fmax()", jnp.fmax, T.fmax, ([1.0], [1.0]), ([1.0], [NAN])),
    convention("fmin()", jnp.fmin, T.fmin, ([1.0], [1.0]), ([1.0], [NAN])),
    convention("copysign()", jnp.copysign, T.copysign, ([0.0], [1.0]), ([2.0], [1.0])),
    convention("floor_divide()", lambda x: x // 2, lambda x: x // 2, [3.0], []),
    convention(
        "heaviside()",
        lambda x: jnp.heaviside(x, 0.5),
        lambda x: T.heaviside(x, torch.tensor(0.5, dtype=x.dtype)),
        [3.0],
        [],
    ),
    convention("det()", jnp.linalg.det, T.linalg.det, [[1.0, 2], [2, 4]], [[1.0, 2], [3, 4]]),
    convention(
        "slogdet()",
        lambda x: jnp.linalg.slogdet(x)[1],
        lambda x: T.linalg.slogdet(x)[1],
        [[1.0, 2], [2, 4]],
        [[1.0, 2], [3, 4]],
    ),
    convention("inv()", jnp.linalg.inv, T.linalg.inv, [[1.0, 2], [2, 4]], [[1.0, 2], [3, 4]]),
    convention(
        "solve()",
        lambda x: jnp.linalg.solve(x, jnp.ones(2)),
        lambda x: T.linalg.solve(x, torch.ones(2, dtype=x.dtype)),
        [[1.0, 2], [2, 4]],
        [[1.0, 2], [3, 4]],
    ),
    convention("cholesky()", jnp.linalg.cholesky, T.linalg.cholesky, [[2.0, 1], [0.5, 2]], []),
    convention("cholesky()", jnp.linalg.cholesky, T.linalg.cholesky, [[1.0, 2], [2, 1]], []),
    convention(
        "eigh()",
        lambda x: jnp.linalg.eigh(x)[0] * jnp.array([1.0, 2]),
        lambda x: T.linalg.eigh(x)[0] * torch.tensor([1.0, 2]),
        [[2.0, 1], [0.5, 1]],
        [],
    ),
    convention("gather", lambda x: x[jnp.array([5])], lambda x: x[T.tensor([5])], [1.0, 2], []),
    convention(
        "gather", lambda x: jnp.take(x, jnp.array([5])), lambda x: x[T.tensor([5])], [1.0, 2], []
    ),
    convention(
        "dynamic_slice",
        lambda x: lax.dynamic_slice(x, (1,), (2,)),
        lambda x: x.narrow(0, 1, 2),
        [1.0, 2],
        [1.0, 2, 3],
    ),
    convention(
        "dynamic_update_slice",
        lambda x: lax.dynamic_update_slice(jnp.ones(2), x, (1,)),
        lambda x: torch.ones(2).slice_scatter(x, 0, 1, 3),
        [1.0, 2],
        [1.0],
    ),
    convention(
        "scatter-add",
        jnp.ones(2).at[jnp.array([4])].add,
        lambda x: torch.ones(2, dtype=x.dtype).index_add(0, torch.tensor([4]), x),
        [1.0],
        [],
    ),
    convention(
        "scatter",
        jnp.ones(2).at[jnp.array([4])].set,
        lambda x: torch.ones(2, dtype=x.dtype).index_copy(0, torch.tensor([4]), x),
        [1.0],
        [],
    ),
    convention("scatter", _set, _torch_set, [1.0, 2, 3], [], 2),
]


def gradients(case: Convention, points: tuple[Any, ...]) -> tuple[list, list]:
    """Return torch's gradients, or the error that torch raises, and JAX's."""
    arrays = [np.asarray(p, float) for p in points]
    tensors = [torch.tensor(x, requires_grad=True) for x in arrays]

    def loss(*args: Any) -> jax.Array:
        return jnp.sum(case.jax(*args))

    by_jax = jax.grad(loss, tuple(range(len(arrays))))(*map(jnp.asarray, arrays))
    try:
        case.torch(*tensors).sum().backward()
        by_torch = [np.asarray(t.grad) for t in tensors]
    except (RuntimeError, IndexError) as error:
        by_torch = [error]
    return by_torch, [np.asarray(g) for g in by_jax]


def same(by_torch: list, by_jax: list) -> bool:
    if isinstance(by_torch[0], Exception):
        return False
    return all(np.allclose(t, j, equal_nan=True) for t, j in zip(by_torch, by_jax, strict=True))


IDS = [f"{i}-{r.rule}" for i, r in enumerate(CONVENTIONS)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CONVENTIONS, ids=IDS)
def test_a_convention_is_reported_exactly_where_it_differs(case: Convention):
    """`lint` reports both gradients where they differ, and nothing at the ordinary point."""
    by_torch, by_jax = gradients(case, case.point)
    if case.rule not in rules_of(convention_of()):  # this torch has JAX's gradient
        assert same(by_torch, by_jax)
        lint(case.jax, *(np.asarray(p, float) for p in case.point)).check()
        return
    agree_since = {"lgamma": "JAX 0.11", "hypot()": "JAX 0.12"}
    if case.rule in agree_since and same(by_torch, by_jax):
        lint(case.jax, *(np.asarray(p, float) for p in case.point)).check()
        return
    assert not same(by_torch, by_jax)
    report = lint(case.jax, *(np.asarray(p, float) for p in case.point))
    (finding,) = report.findings
    assert (finding.primitive, finding.elements) == (case.rule.lstrip("_"), case.elements), report
    if finding.torch == "an error":
        assert isinstance(by_torch[0], Exception)
    for text, grads in ((finding.torch, by_torch), (finding.jax, by_jax)):
        if text in ("0", "1", "0.5", "nan", "inf", "-inf"):
            values = np.concatenate([np.ravel(g) for g in grads])
            assert np.isclose(values, float(text), equal_nan=True).any(), (text, values)
    if case.ordinary != ([],):
        assert same(*gradients(case, case.ordinary))
        lint(case.jax, *(np.asarray(p, float) for p in case.ordinary)).check()


def test_every_rule_is_run():
    """Every rule of the table appears in CONVENTIONS, apart from four tested elsewhere."""
    promoted = {"add", "sub", "mul", "div"}
    own = {name for name in RULES if name.startswith("functional.")}
    missing = set(RULES) - {r.rule for r in CONVENTIONS} - promoted - own - {"sign", "scatter_add"}
    assert not missing, f"rules that test_rules.py does not run: {sorted(missing)}"


@pytest.mark.parametrize("version", SUPPORTED)
def test_one_rule_holds_for_each_version_and_place(version):
    """A convention that moved has one rule before and one after; never both, and never a gap."""
    for name, rules in rules_of(version).items():
        places = [rule.where for rule in rules if rule.since or rule.before]
        assert len(set(places)) == len(places), name
    gone = RULES.keys() - rules_of(version).keys()
    of_jax = {name for name in gone if not name.startswith("functional.")}
    assert of_jax == ({"clamp"} if version >= "2.14" else set())


@pytest.mark.parametrize(
    ("version", "slope", "remedy"),
    [
        ("2.13", "1", 'jaxgrad.functional.at("2.13").clamp'),
        ("2.14", "0", "jaxgrad.functional.clamp"),
        (NEWEST, "0", "jaxgrad.functional.clamp"),
    ],
)
def test_a_finding_is_that_of_the_version(version, slope, remedy):
    """The gradient at the bound of a clamp is 1 up to torch 2.13, and 0 since 2.14."""
    report = lint(lambda x: jnp.clip(x, -1, 1), jnp.array([1.0, 0.5]), torch=version)

    (finding,) = report.findings
    assert (finding.torch, finding.remedy, report.torch) == (slope, remedy, version)
    assert f"gradient in torch {version}: {slope}; in JAX: 0.5" in str(report)


def test_a_remedy_has_the_gradient_of_its_version():
    for version in SUPPORTED:
        (finding,) = lint(lambda x: jnp.clip(x, -1, 1), jnp.ones(1), torch=version).findings
        clamp = eval(finding.remedy, {"jaxgrad": jaxgrad})
        assert jax.grad(lambda x, f=clamp: f(x, -1.0, 1.0))(1.0) == float(finding.torch)


@pytest.mark.parametrize(
    ("operators", "version", "sides"),
    [
        (functional, "2.13", ("1", "0", 'jaxgrad.functional.at("2.13")')),
        (functional.at("2.13"), "2.15", ("0", "1", "jaxgrad.functional")),
        (functional, "2.15", None),
        (functional.at("2.13"), "2.13", None),
    ],
)
def test_an_operator_of_another_version_is_a_finding(operators, version, sides):
    """`functional.clamp` follows the newest torch, so `lint` reports its bound for an older one."""
    x = jnp.array([-1.0, 0.5, 1.0])
    programs = {
        "clamp": lambda x: operators.clamp(x, -1.0, 1.0),
        "clamp_min": lambda x: operators.hinge_embedding_loss(1.0 - x, -jnp.ones(3), margin=0.0),
    }
    for name, program in programs.items():
        found = [
            (f.primitive, f.torch, f.jax, f.remedy)
            for f in lint(program, x, torch=version).findings
        ]
        assert found == ([(f"functional.{name}", *sides)] if sides else [])


def test_an_unknown_version_raises():
    with pytest.raises(ValueError, match="not of torch 1.9"):
        lint(jnp.abs, 0.0, torch="1.9")


def test_remedies_exist():
    """Every function of `jaxgrad.functional` that a remedy names exists."""
    words = {
        word.strip("(),;:") for rules in RULES.values() for r in rules for word in r.remedy.split()
    }
    names = {w.partition("(")[0] for w in words if w.startswith("jaxgrad.functional.")}
    missing = [n for n in names if not hasattr(functional, n.rpartition(".")[2])]
    assert names and not missing

"""Every operator of `jaxgrad.functional` against torch: one test a record, and the contract."""

import dataclasses
import doctest
import inspect
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import functional
from jaxgrad.functional._core.arguments import result_type
from jaxgrad.functional._core.derivative import derivative, not_differentiable
from jaxgrad.parity.interop import to_torch
from parity_tests.operators import call, jax_side, load, torch_side
from parity_tests.operators._harness.conventions import COMMAND, pinned
from parity_tests.operators._harness.draw import drawn
from parity_tests.operators._harness.grid import check
from parity_tests.operators._harness.jax_side import run
from parity_tests.operators._harness.jobs import job, jobs
from parity_tests.operators._harness.torch_side import flat, observe


inf = np.inf
OPERATORS = load()
TABLE = pinned()
NAMESPACES = ("distributions", "fft", "linalg", "special")


def _public() -> dict[str, Any]:
    """The public functions by the name of their record."""
    places = [("", functional), *((f"{n}.", getattr(functional, n)) for n in NAMESPACES)]
    return {
        prefix + name: value
        for prefix, place in places
        for name, value in vars(place).items()
        if not name.startswith("_") and callable(value) and not inspect.isclass(value)
    }


PUBLIC = _public()


@pytest.mark.parametrize("made", OPERATORS.values(), ids=OPERATORS)
def test_operator(made):
    """An operator has torch's values, gradients, second derivatives, tangents and errors."""
    outcome = check(made)

    assert not outcome.problems, "\n" + "\n".join(outcome.problems)
    assert outcome.leaves > made.num_samples
    assert sorted(outcome.rows) == sorted(row for row in TABLE if row.operator == made.name), (
        "a row of the conventions table moved; look at it, then write it anew: "
        + COMMAND.format(made.name)
    )


# What no call sets, and why.
UNDRAWN = {
    "rrelu": {"training", "key"},  # noise, that torch has no way to be given
    "scaled_dot_product_attention": {"dropout_p", "dropout_key"},  # likewise
    "multi_head_attention_forward": {"dropout_key"},  # likewise
    "gumbel_softmax": {"key", "eps"},  # the noise is given; torch does not look at eps
    "triplet_margin_with_distance_loss": {"distance_function"},  # one function for two libraries
    "linalg.lu": {"pivot"},  # an error on the CPU
    "linalg.lu_factor": {"pivot"},
    "linalg.lu_factor_ex": {"pivot"},
    "fractional_max_pool2d": {"key"},  # torch is given the samples
    "fractional_max_pool3d": {"key"},
    "topk": {"sorted"},  # without it the order is by chance
}


def test_every_option_is_drawn():
    """Each option of a function has another value than its default in one of the calls at least."""
    left = {}
    for name, made in OPERATORS.items():
        signature = inspect.signature(PUBLIC[name])
        samples = [*drawn(made), *made.points, *(d.sample for d in made.differences)]
        options = {
            n: p.default for n, p in signature.parameters.items() if p.default is not p.empty
        }
        options.pop("torch_gradient", None)
        for sample in samples:
            for key, value in signature.bind(*sample.args, **sample.kwargs).arguments.items():
                plain = not isinstance(value, np.ndarray)
                if not (plain and key in options and value == options[key]):
                    options.pop(key, None)
        if options:
            left[name] = set(options)

    assert left == UNDRAWN


def test_a_record_may_be_of_few_kinds(monkeypatch):
    """Ten calls of two kinds where the record says so, of more to fuzz, none where ten differ."""
    few, other = OPERATORS["linalg.matrix_exp"], OPERATORS["leaky_relu"]
    monkeypatch.delenv("OPERATOR_SEED", raising=False)

    shapes = [sample.args[0].shape for sample in drawn(few)]
    assert len(shapes) == 10
    assert len(set(shapes)) == few.max_programs == 2
    with pytest.raises(ValueError, match="`max_programs=2` admits only 2 distinct calls; increase"):
        drawn(dataclasses.replace(other, max_programs=2))

    monkeypatch.setenv("OPERATOR_SEED", "1")
    assert len({sample.args[0].shape for sample in drawn(few)}) > 2


# A second name of one function, as torch.special.erf is of torch.erf: the record's name.
ALIASES = {
    name: next((known for known in OPERATORS if PUBLIC.get(known) is fun), None)
    for name, fun in PUBLIC.items()
    if name not in OPERATORS
}


def test_every_function_has_its_record():
    """A public function, under one of its names, is a record of the grid."""
    assert not set(OPERATORS) - set(PUBLIC), "records of nothing"
    assert None not in ALIASES.values(), (
        f"without a record: {sorted(name for name, known in ALIASES.items() if known is None)}"
    )


@pytest.mark.parametrize("name", ALIASES)
def test_an_alias_is_one_in_torch_too(name):
    """torch's functions of both names have the same bits, and so the same gradients."""
    record = OPERATORS[ALIASES[name] or name]
    call = jobs(record)[0]
    args, kwargs = call.rebuild(to_torch(call.arrays))
    two = torch_side(record), torch_side(dataclasses.replace(record, name=name, torch=None))

    left, right = (flat(fun(*args, **kwargs)) for fun in two)

    assert all(torch.equal(x, y) for x, y in zip(left, right, strict=True))


@pytest.mark.parametrize("name", PUBLIC)
def test_every_function_is_documented(name):
    """A sentence, an example that runs, torch's name."""
    doc = inspect.getdoc(PUBLIC[name]) or ""

    assert doctest.DocTestParser().get_examples(doc), f"functional.{name} has no example that runs"
    assert "Torch:" in doc, f"the docstring of functional.{name} has no line 'Torch:'"
    assert doc.splitlines()[0].endswith("."), f"functional.{name} begins without a sentence"


def test_a_record_can_fail():
    """A function with another convention than torch's is found, at its kink and not elsewhere."""
    from parity_tests.operators._harness import grid as _grid

    made = OPERATORS["abs"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_grid, "jax_side", lambda _: jnp.abs)
        problems = _grid.check(made).problems

    assert any("point" in text and "gradient/0" in text for text in problems)
    assert not any("drawn" in text for text in problems)


def test_a_call_that_torch_refuses_in_another_dtype():
    """Weights that became complex, as all of the call: an error of both sides, or a problem."""
    from parity_tests.operators._harness import grid as _grid

    made = dataclasses.replace(
        OPERATORS["cov"],
        strategy=lambda _: call(np.eye(2), aweights=np.ones(2)),
        dtypes=("float64", "complex128"),
        jit=False,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_grid, "jax_side", lambda _: lambda x, **_: jnp.cov(x, ddof=0))
        problems = _grid.check(dataclasses.replace(made, points=(), raises=())).problems

    assert not _grid.check(made).problems
    assert any("JAX should raise" in text for text in problems)


@derivative(lambda t, _, x: t * jnp.where(x > 0, 1, 7) * x)
def _ruled(x):
    return jnp.sin(x)


@derivative(lambda t, out, _, scale: t * out * scale, None)
def _product(x, scale):
    return x * scale


def test_a_rule_is_its_own_second_derivative():
    """The derivative of the formula, also in a scan and outside of one, and in forward mode."""
    twice = jax.grad(jax.grad(_ruled))

    def scanned(x):
        return jax.lax.scan(lambda c, _: (_ruled(c), None), x, None, length=1)[0]

    assert jax.grad(_ruled)(-2.0) == -14.0
    assert twice(-2.0) == jax.jit(twice)(-2.0) == jax.grad(jax.grad(scanned))(-2.0) == 7.0
    assert jax.jvp(jax.grad(_ruled), (-2.0,), (1.0,))[1] == 7.0
    assert jax.vmap(twice)(jnp.array([-2.0, 3.0])).tolist() == [7.0, 1.0]


def test_an_argument_without_a_formula_has_no_gradient():
    """None in the place of a formula: zero, and the other arguments are as they were."""
    assert jax.grad(_product, (0, 1))(2.0, 3.0) == (18.0, 0.0)


def test_a_formula_of_nothing_raises():
    """What torch has no derivative of says so when it is differentiated, and only then."""
    step = derivative(not_differentiable("step"))(lambda x: jnp.where(x > 0, 1.0, 0.0))

    assert step(2.0) == 1.0
    with pytest.raises(RuntimeError, match="derivative for step is not implemented"):
        jax.grad(step)(2.0)


def test_subnormals_are_zero_on_the_cpu():
    """XLA flushes them in whatever it compiles, so a kink at 0 has them on it; torch does not."""
    x = jnp.array([1e-310, -1e-310], jnp.float64)

    assert (x > 0).tolist() == [False, False]
    assert jax.grad(lambda x: functional.relu(x).sum())(x).tolist() == [0.0, 0.0]
    assert torch.tensor([1e-310, -1e-310], dtype=torch.float64).gt(0).tolist() == [True, False]


@pytest.mark.parametrize(
    "name",
    [
        "relu", "relu6", "leaky_relu", "selu", "abs", "sign", "angle", "floor", "ceil", "rsqrt",
        "median", "lgamma", "special.i0e", "special.ndtri",
    ],
)  # fmt: skip
def test_subnormals_are_torchs_when_torch_flushes_them(name):
    """That they are zero is all that differs. (torch's log, sqrt and fmod never flush.)"""
    numbers = np.array([1e-310, -1e-310, 0.5, -2.0])
    x = to_torch([numbers])[0].requires_grad_()
    torch.set_flush_denormal(True)
    try:
        y = torch_side(OPERATORS[name])(x)
        (gradient,) = torch.autograd.grad(y.sum(), x)
    finally:
        torch.set_flush_denormal(False)

    ours, pullback = jax.vjp(PUBLIC[name], jnp.asarray(numbers))

    np.testing.assert_allclose(ours, y.detach(), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(pullback(jnp.ones_like(ours))[0], gradient, rtol=1e-12, atol=1e-300)


def test_a_boolean_mask_of_attention_is_added():
    """As torch's: a score that is not finite is NaN where it is masked, not left out."""
    q, k = np.ones((1, 2)), np.array([[np.inf, 1.0], [1.0, 2.0], [0.0, 1.0]])
    mask = np.array([[False, True, True]])

    query, key, allowed = to_torch([q, k, mask])
    wanted = torch.nn.functional.scaled_dot_product_attention(query, key, key, allowed)
    query, key, allowed = jnp.asarray(q), jnp.asarray(k), jnp.asarray(mask)
    ours = functional.scaled_dot_product_attention(query, key, key, allowed)

    assert wanted.isnan().all()
    np.testing.assert_array_equal(ours, wanted)


def test_equal_eigenvalues_have_one_gradient_in_sum():
    """That of each depends on the basis, which torch's LAPACK and JAX's choose differently."""
    ones, equal = np.ones((3, 3)), np.array([1.0, 1.0, 0.0])
    x, cotangent = to_torch([ones, equal])
    (wanted,) = torch.autograd.grad(torch.linalg.eigvalsh(x.requires_grad_()), x, cotangent)
    _, pull = jax.vjp(functional.linalg.eigvalsh, jnp.asarray(ones))

    np.testing.assert_allclose(pull(jnp.asarray(equal))[0], wanted, atol=1e-14)
    np.testing.assert_allclose(wanted, np.eye(3) - ones / 3, atol=1e-14)


@pytest.mark.parametrize("rank", range(5))
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_derivatives_of_a_determinant_are_the_polynomials(rank, dtype):
    """Of singular matrices too, where those by singular values are not: torch's and ours before."""

    def by_terms(x):
        swaps = {p: np.linalg.det(np.eye(4)[list(p)]) for p in itertools.permutations(range(4))}
        return sum(sign * jnp.prod(x[jnp.arange(4), jnp.array(p)]) for p, sign in swaps.items())

    holomorphic = dtype == "complex128"
    x = np.random.default_rng(rank).standard_normal((2, 4, 4))
    x[..., rank:] = 0  # no rounding makes it regular
    x = x[0] + 1j * x[1] if holomorphic else x[0]
    batch = jnp.stack([jnp.asarray(x), jnp.eye(4, dtype=dtype)])

    def derivatives(fun):
        first = jax.jacrev(fun, holomorphic=holomorphic)
        second = jax.jacfwd(first, holomorphic=holomorphic)
        return jax.jit(jax.vmap(lambda x: (first(x), second(x))))(batch)

    for found, wanted in zip(
        derivatives(functional.linalg.det), derivatives(by_terms), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ["eigh", "eig"])
def test_vectors_of_equal_eigenvalues_have_no_gradient(name):
    """It is NaN by the vectors; by the eigenvalues alone it is not."""
    ours, theirs = getattr(functional.linalg, name), getattr(torch.linalg, name)
    both = torch.eye(2, dtype=torch.float64).requires_grad_()

    def gradients(which):
        total = theirs(both)[which].abs().pow(2).sum()
        ours_of = jax.grad(lambda x: jnp.sum(jnp.abs(ours(x)[which]) ** 2))
        return ours_of(jnp.eye(2, dtype=float)), torch.autograd.grad(total, both)[0]

    for which, expected in ((0, 2 * np.eye(2)), (1, np.full((2, 2), np.nan))):
        for gradient in gradients(which):
            np.testing.assert_array_equal(gradient, expected)


NINE = np.arange(1.0, 10.0)


@pytest.mark.parametrize(
    ("name", "sample"),
    [
        ("huber_loss", call(NINE, NINE / 2, "none", weight=np.full(9, inf))),
        ("mse_loss", call(np.full(9, inf), NINE, reduction="none", weight=NINE)),
        ("addcdiv", call(NINE, [2.0], [0.0])),
    ],
)
@pytest.mark.filterwarnings("ignore:`torch.jit.script`")  # torch's forward mode has a use of it
def test_slopes_are_summed_where_torchs_are(name, sample):
    """Of what is subtracted, weighed or broadcast: before or after they meet an infinity."""
    made, at = OPERATORS[name], job(name, sample, None)
    truth = observe(torch_side(made), at)
    (found,) = run([jax_side(made)], [at], [truth.cotangents], [truth.directions], name=None)

    for part in ("gradient", "second"):
        for by, wanted in truth.observed[part].items():
            if wanted is not None:
                np.testing.assert_allclose(found[part][by], wanted, err_msg=f"{part}/{by}")


@pytest.mark.parametrize(("name", "edge"), [("xlogy", 0.0), ("special.xlog1py", -1.0)])
def test_mixed_derivatives_are_summed_element_by_element(name, edge):
    """By an argument that was broadcast, of the gradient by the other one."""
    x, y, c = (torch.tensor(x).requires_grad_() for x in ([1.0, 2.0], [edge], [1.0, -3.0]))
    (by_x,) = torch.autograd.grad(torch_side(OPERATORS[name])(x, y), x, c, create_graph=True)
    (theirs,) = torch.autograd.grad(by_x.sum(), y)

    def slope(y):
        _, pull = jax.vjp(lambda x: PUBLIC[name](x, y), jnp.array([1.0, 2.0]))
        return jnp.sum(pull(jnp.array([1.0, -3.0]))[0])

    assert theirs.isnan()
    assert jnp.isnan(jax.grad(slope)(jnp.array([edge])))


@pytest.mark.parametrize(
    ("name", "value", "params", "infinite"),
    [
        ("gamma", [1.0], ([0.0], [1.0, 2.0]), 1),
        ("inverse_gamma", [1.0], ([0.0], [1.0, 2.0]), 1),
        ("negative_binomial", [1.0], ([0.0], [0.5, 0.25]), 1),
        ("pareto", [2.0, 2.0], ([1.0, 1.0], [0.0]), 2),
        ("poisson", [np.inf], ([1.0, 2.0],), 0),
        ("normal", [np.inf], ([0.0], [1.0, 2.0]), 0),
        ("half_normal", [np.inf], ([1.0, 2.0],), 0),
        ("relaxed_bernoulli", [0.75], ([np.inf], [0.5, 0.25]), 0),
    ],
)
def test_infinite_slopes_are_summed_element_by_element(name, value, params, infinite):
    """inf and -inf of two elements make NaN where the argument was broadcast, as in torch."""
    args, cotangent = [np.array(x) for x in (value, *params)], np.array([1.0, -3.0])
    name = f"distributions.{name}_log_prob"
    tensors = [x.requires_grad_() for x in to_torch(args)]
    wanted = torch.autograd.grad(
        torch_side(OPERATORS[name])(*tensors), tensors, to_torch([cotangent])[0]
    )
    _, pull = jax.vjp(PUBLIC[name], *map(jnp.asarray, args))

    assert wanted[infinite].isnan().all()
    for ours, theirs in zip(pull(jnp.asarray(cotangent)), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs)


@pytest.mark.parametrize(
    "name",
    [
        "add", "sub", "mul", "div", "maximum", "fmax", "clamp_min", "pow", "atan2", "hypot",
        "remainder", "fmod", "logaddexp", "xlogy", "complex",
        "special.zeta", "trapezoid", "linalg.vecdot", "dist",
    ],
)  # fmt: skip
def test_shapes_that_do_not_broadcast_are_a_runtime_error(name):
    """torch's type, and both shapes in the text, whatever JAX has for it."""
    left, right = np.ones(2), np.ones(3)

    with pytest.raises(RuntimeError):
        torch_side(OPERATORS[name])(*to_torch([left, right]))
    with pytest.raises(RuntimeError, match=r"2.*3|3.*2"):
        PUBLIC[name](jnp.asarray(left), jnp.asarray(right))


@pytest.mark.parametrize(
    "args",
    [
        ("f4[2]", "f8[]"), ("f8[]", "f4[]"), ("i4[2]", "f8[]"), ("i8[2]", 2.5), ("f2[2]", 2.5),
        ("f4[2]", 1j), ("i4[2]", 3), ("u1[2]", -3), ("?[2]", 3), ("f2[]", "i8[2]"), ("f8[2]", 1j),
        ("bf[2]", "f2[2]"), ("?[]", True), ("c8[]", "f8[2]"), ("i4[]", "u1[2]"),
    ],
)  # fmt: skip
def test_result_type_is_torchs(args):
    """Arrays before 0-d arrays before numbers, for each pair of dtypes and dims."""

    def array(text):
        if not isinstance(text, str):
            return text
        code, shape = text[:-1].split("[")
        dtype = jnp.bfloat16 if code == "bf" else code
        return jnp.ones((2,) if shape else (), dtype)

    ours = [array(a) for a in args]
    theirs = [to_torch(np.asarray(x)) if isinstance(x, jax.Array) else x for x in ours]

    assert str(torch.result_type(*theirs)) == f"torch.{result_type(*ours)}"

"""The dtypes that each operator of `jaxgrad.functional` takes and gives: torch's, or an error."""

import inspect
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import functional
from jaxgrad.parity.interop import to_jax, to_numpy, to_torch
from parity_tests.operators import Operator, jax_side, load, torch_side
from parity_tests.operators._harness.draw import drawn
from parity_tests.operators._harness.jobs import Job, job
from parity_tests.operators._harness.torch_side import flat


OPERATORS = load()
KINDS = ("int64", "float32", "float64", "complex64", "complex128", "bool")


def _calls(made: Operator, without: str = "") -> list[Job]:
    """The drawn calls."""
    return [job("", sample, None) for sample in drawn(made) if without not in sample.kwargs]


def _as(x: np.ndarray, dtype: str) -> np.ndarray:
    """Not 0 in any kind: torch refuses it as a divisor and as a parameter."""
    return np.asarray(np.ceil(np.abs(x))).astype(dtype)


def _outcome(run: Callable[[], Any]) -> list[str] | type:
    """The dtypes of what is returned, or the type of what is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return [str(x.dtype).removeprefix("torch.") for x in flat(run())]
        except Exception as error:
            return type(error)


def _outcomes(made: Operator, call: Job, arrays: list[np.ndarray], dtype: str = "") -> Any:
    """torch's and ours; None where they are the same: the same dtypes, or an error each."""

    def ours(arrays: Any) -> Any:
        args, kwargs = call.rebuild(arrays)
        return jax_side(made)(*args, **kwargs, **({"dtype": dtype} if dtype else {}))

    def theirs() -> Any:
        args, kwargs = call.rebuild(to_torch(arrays))
        more = {"dtype": getattr(torch, dtype)} if dtype else {}
        return torch_side(made)(*args, **kwargs, **more)

    def shapes() -> Any:
        """Without values, where the function can do without them."""
        found = jax.eval_shape(ours, to_jax(arrays)) if made.jit else ours(to_jax(arrays))
        return [torch.empty(0, dtype=getattr(torch, str(x.dtype))) for x in jax.tree.leaves(found)]

    wanted, found = _outcome(theirs), _outcome(shapes)
    both_raise = isinstance(wanted, type) and isinstance(found, type)
    return None if both_raise or wanted == found else (wanted, found)


def _named(kinds: str, reason: str, *names: str) -> dict[tuple[str, str], str]:
    return dict.fromkeys(itertools.product(names, kinds.split()), reason)


# Where torch and we do not agree on every floating argument of another kind.
CONVERT = "an error that says to convert: torch's result is that of integers, cut off"
ONE_PLACE = "an error: torch has no kernel of it, and takes it where one number is left alone"
OTHER_KINDS = {
    **_named("int64", CONVERT, "max_pool1d", "max_pool2d", "max_pool3d"),
    **_named("bool", "an error that says to convert", "unfold", "fold"),
    **_named("int64", CONVERT, "lp_pool2d", "lp_pool3d", "hinge_embedding_loss"),
    **_named("int64", CONVERT, "alpha_dropout", "feature_alpha_dropout"),
    **_named("int64 bool", CONVERT, "dropout", "dropout1d", "dropout2d", "dropout3d"),
    **_named("complex128", ONE_PLACE, "adaptive_avg_pool1d", "adaptive_avg_pool2d"),
    **_named("complex128", ONE_PLACE, "adaptive_avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d"),
    **_named(
        "int64", "of integers torch's is cut off, ours a float",
        "avg_pool1d", "avg_pool2d", "avg_pool3d", "bilinear", "rnn_relu_cell",
        "addmm", "addmv", "addbmm", "baddbmm",
    ),
    **_named(
        "bool complex128", "an error that says to convert: torch takes them by some reductions",
        "index_reduce", "scatter_reduce",
    ),
    **_named("bool", "an error that says to convert: torch's sum is an or", "addr"),
    **_named("int64", "the noise of the record is of float64", "gumbel_softmax"),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_kinds_of_numbers(name):
    """Every floating argument as integers, booleans and complex numbers, in each drawn call."""
    made, seen = OPERATORS[name], {}
    for call, kind in itertools.product(_calls(made), ("int64", "bool", "complex128")):
        arrays = [_as(x, kind) if x.dtype.kind in "fc" else x for x in call.arrays]
        if outcomes := _outcomes(made, call, arrays):
            seen[kind] = (outcomes, call.names)

    assert set(seen) == {kind for other, kind in OTHER_KINDS if other == name}, seen


# Where torch and we compute other numbers of integers.
OTHER_NUMBERS = {
    **dict.fromkeys(["local_response_norm", "lp_pool3d"], "torch's means are cut off"),
    "distributions.inverse_gamma_log_prob": "torch's reciprocal of the value is cut off, to 0",
    "kthvalue": "the index of a tie, which torch leaves open",
}


@pytest.mark.parametrize("name", OPERATORS)
def test_numbers_of_integers(name):
    """Where both take integers, and give the same dtypes, they give the same numbers."""
    made, same = OPERATORS[name], True
    for call in sorted(_calls(made), key=lambda call: -sum(x.size for x in call.arrays))[:3]:
        arrays = [_as(x, "int64") if x.dtype.kind in "fc" else x for x in call.arrays]
        theirs, ours = call.rebuild(to_torch(arrays)), call.rebuild(to_jax(arrays))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                wanted = flat(torch_side(made)(*theirs[0], **theirs[1]))
            except Exception:
                continue
        if _outcomes(made, call, arrays) is None:
            found = jax.tree.leaves(jax_side(made)(*ours[0], **ours[1]))
            same &= all(
                np.allclose(x, y, rtol=1e-5, atol=1e-5, equal_nan=True)
                for x, y in zip(to_numpy(wanted), found, strict=True)
            )

    assert same == (name not in OTHER_NUMBERS)


MIXED_KINDS = ("float32", "int64", "bool", "complex128")


# Where torch and we do not agree on one argument of another dtype than the rest.
ONE_DNN = "torch's oneDNN takes a bias of another dtype"
AS_IF = "torch reads a matrix of another dtype as if it were of that of B"
OTHER_MIXTURES = {
    **_named("float32 int64 bool complex128", ONE_DNN, "conv1d", "conv2d"),
    **_named("float32 int64 bool", ONE_DNN, "conv_transpose1d", "conv_transpose2d"),
    **_named("float32 int64 bool complex128", AS_IF, "linalg.solve_triangular"),
    **_named("float32 complex128", AS_IF, "distributions.multivariate_normal_log_prob"),
    **_named("complex128", AS_IF, "distributions.multivariate_normal_kl_divergence"),
    **_named(
        "int64 bool complex128", "an error: torch moves them example by example, cut off",
        "instance_norm",
    ),
    **_named(
        "complex128", "an error: no weight and no probability",
        "cross_entropy", "binary_cross_entropy_with_logits",
    ),
    **_named("bool", "an error: the noise of torch is of the logits' dtype", "gumbel_softmax"),
    **_named(
        "float32 int64 bool", "the samples may be of another dtype",
        "fractional_max_pool2d", "fractional_max_pool3d",
    ),
    **_named(
        "float32", "the result of torch's is float32",
        "huber_loss", "binary_cross_entropy_with_logits", "distributions.bernoulli_log_prob",
    ),
    **_named(
        "complex128", "an error: torch drops the imaginary part of the number of trials",
        "distributions.binomial_log_prob", "distributions.negative_binomial_log_prob",
    ),
    **_named(
        "complex128", "an error: torch goes on with a complex 0 or 1 as a value",
        "distributions.bernoulli_log_prob", "distributions.continuous_bernoulli_log_prob",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_arguments_of_different_dtypes(name):
    """One of them of another float, integers, booleans or complex numbers: as in torch."""
    made, seen = OPERATORS[name], {}
    for call in _calls(made):
        places = [i for i, x in enumerate(call.arrays) if x.dtype == np.float64]
        for place, kind in itertools.product(places * (len(places) > 1), MIXED_KINDS):
            arrays = [_as(x, kind) if i == place else x for i, x in enumerate(call.arrays)]
            if outcomes := _outcomes(made, call, arrays):
                seen[kind] = (outcomes, call.names[place])

    assert set(seen) == {kind for other, kind in OTHER_MIXTURES if other == name}, seen


@pytest.mark.parametrize(
    "name",
    [n for n, made in OPERATORS.items() if "dtype" in inspect.signature(jax_side(made)).parameters],
)
def test_the_dtype_argument(name):
    """Of every kind, for every kind of input."""
    made = OPERATORS[name]
    for call, given, asked in itertools.product(_calls(made, without="dtype"), KINDS, KINDS):
        arrays = [_as(x, given) for x in call.arrays]

        assert _outcomes(made, call, arrays, asked) is None, (given, asked)


@pytest.mark.parametrize("name", ["l1_loss", "mse_loss"])
@pytest.mark.parametrize("weight", [np.array([1.0, 2.0]), np.array([1.0 - 1j, 2.0])])
def test_weighted_losses_of_complex_numbers(name, weight):
    """torch weighs them by products, which take them where its kernels do not."""
    x, y = np.array([1.0 + 2j, 3j]), np.array([0.0, 1.0])
    given = to_torch([x, y, weight])
    given[0].requires_grad_()
    wanted = getattr(torch.nn.functional, name)(given[0], given[1], weight=given[2])
    wanted.real.backward()

    found, gradient = jax.value_and_grad(
        lambda x: getattr(functional, name)(x, y, weight=weight).real, holomorphic=False
    )(jnp.asarray(x))

    assert found == pytest.approx(wanted.real.item(), rel=1e-14)
    np.testing.assert_allclose(np.conj(gradient), given[0].grad.numpy(), rtol=1e-14)


def test_sums_of_booleans_by_index():
    """An or, as in torch."""
    given: Any = ([False, True], [0, 0], [True, False])
    x, i, y = map(torch.tensor, given)
    a, at, b = map(jnp.array, given)

    wanted = torch.index_put(x, (i,), y, accumulate=True)
    assert functional.index_put(a, (at,), b, accumulate=True).tolist() == wanted.tolist()


def test_doubles_of_numpy_are_single_without_64_bits():
    """As JAX reads them: beside floats of its own they are of one dtype."""
    with jax.enable_x64(False):
        found = functional.linear(np.ones((1, 2)), jnp.ones((1, 2)))  # pyright: ignore[reportArgumentType]

        assert found.dtype == jnp.float32

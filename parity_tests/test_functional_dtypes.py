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
from jaxgrad.parity.interop import to_jax, to_torch
from parity_tests.operators import Operator, Sample, jax_side, load, torch_side
from parity_tests.operators._draw import drawn
from parity_tests.operators._jobs import Job, job
from parity_tests.operators._torch import flat


OPERATORS = load()
KINDS = ("int64", "float32", "float64", "complex64", "complex128", "bool")


def _largest(made: Operator, without: str = "") -> Job:
    """The call of the largest arrays."""

    def size(sample: Sample) -> int:
        leaves = jax.tree.leaves((sample.args, sample.kwargs))
        return sum(x.size for x in leaves if isinstance(x, np.ndarray))

    return job("", max((s for s in drawn(made) if without not in s.kwargs), key=size), None)


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


# Where torch takes integers or booleans and we do not, or where the result is of another dtype.
CONVERT = "an error that says to convert: torch's result is that of integers, cut off"
OTHER_KINDS = {
    **dict.fromkeys(["max_pool1d", "max_pool2d", "max_pool3d", "unfold", "fold"], CONVERT),
    **dict.fromkeys(["l1_loss", "smooth_l1_loss", "scatter_reduce"], CONVERT),
    **dict.fromkeys(["dropout", "dropout1d", "feature_alpha_dropout"], CONVERT),
    **dict.fromkeys(
        ["avg_pool1d", "avg_pool2d", "avg_pool3d", "bilinear", "baddbmm", "rnn_relu_cell"],
        "of integers torch's is cut off, ours a float",
    ),
    "gumbel_softmax": "the noise of the record is of float64",
}


@pytest.mark.parametrize("name", OPERATORS)
def test_kinds_of_numbers(name):
    """Every floating argument as integers, booleans and complex numbers."""
    made, seen = OPERATORS[name], {}
    call = _largest(made)
    for kind in ("int64", "bool", "complex128"):
        arrays = [_as(x, kind) if x.dtype.kind in "fc" else x for x in call.arrays]
        seen[kind] = _outcomes(made, call, arrays)

    assert any(seen.values()) == (name in OTHER_KINDS), seen


MIXED_KINDS = ("float32", "int64", "bool", "complex128")


def _mixtures(kinds: str, reason: str, *names: str) -> dict[tuple[str, str], str]:
    return dict.fromkeys(itertools.product(names, kinds.split()), reason)


# Where torch and we do not agree on one argument of another dtype than the rest.
ONE_DNN = "torch's oneDNN takes a bias of another dtype"
AS_IF = "torch reads a matrix of another dtype as if it were of that of B"
OTHER_MIXTURES = {
    **_mixtures("float32 int64 bool complex128", ONE_DNN, "conv2d"),
    **_mixtures("float32 int64 bool", ONE_DNN, "conv_transpose2d"),
    **_mixtures("float32 int64 bool complex128", AS_IF, "linalg.solve_triangular"),
    **_mixtures("float32 complex128", AS_IF, "distributions.multivariate_normal_log_prob"),
    **_mixtures("complex128", AS_IF, "distributions.multivariate_normal_kl_divergence"),
    **_mixtures(
        "float32 int64 bool", "the samples may be of another dtype",
        "fractional_max_pool2d", "fractional_max_pool3d",
    ),
    **_mixtures(
        "float32", "the result of torch's is float32",
        "huber_loss", "binary_cross_entropy_with_logits", "distributions.bernoulli_log_prob",
    ),
    **_mixtures(
        "complex128", "an error: torch drops the imaginary part of the number of trials",
        "distributions.binomial_log_prob", "distributions.negative_binomial_log_prob",
    ),
    **_mixtures(
        "complex128", "an error: torch goes on with a complex 0 or 1 as a value",
        "distributions.bernoulli_log_prob", "distributions.continuous_bernoulli_log_prob",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_arguments_of_different_dtypes(name):
    """One of them of another float, integers, booleans or complex numbers: as in torch."""
    made, seen = OPERATORS[name], {}
    call = _largest(made)
    places = [i for i, x in enumerate(call.arrays) if x.dtype == np.float64]
    for place, kind in itertools.product(places * (len(places) > 1), MIXED_KINDS):
        arrays = [_as(x, kind) if i == place else x for i, x in enumerate(call.arrays)]
        seen[call.names[place], kind] = _outcomes(made, call, arrays)
    others = {kind for (_, kind), outcomes in seen.items() if outcomes}

    assert others == {kind for other, kind in OTHER_MIXTURES if other == name}, seen


@pytest.mark.parametrize(
    "name",
    [n for n, made in OPERATORS.items() if "dtype" in inspect.signature(jax_side(made)).parameters],
)
def test_the_dtype_argument(name):
    """Of every kind, for every kind of input."""
    made = OPERATORS[name]
    call = _largest(made, without="dtype")
    for given, asked in itertools.product(KINDS, KINDS):
        arrays = [_as(x, given) for x in call.arrays]

        assert _outcomes(made, call, arrays, asked) is None, (given, asked)


def test_doubles_of_numpy_are_single_without_64_bits():
    """As JAX reads them: beside floats of its own they are of one dtype."""
    with jax.enable_x64(False):
        found = functional.linear(np.ones((1, 2)), jnp.ones((1, 2)))  # pyright: ignore[reportArgumentType]

        assert found.dtype == jnp.float32

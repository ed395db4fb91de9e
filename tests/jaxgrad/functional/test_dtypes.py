"""Each operator of `jaxgrad.functional` accepts and returns torch's dtypes, or raises."""

import functools
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


def _calls(record: Operator, without: str = "") -> list[Job]:
    """Return the sampled calls, except those that pass the keyword argument named in `without`."""
    return [job("", sample, None) for sample in drawn(record) if without not in sample.kwargs]


def _as(x: np.ndarray, dtype: str) -> np.ndarray:
    """Cast an array so that no element is 0, which torch rejects as a divisor or parameter."""
    return np.asarray(np.ceil(np.abs(x))).astype(dtype)


def _outcome(run: Callable[[], Any]) -> list[str] | type:
    """Return the dtypes of the outputs, or the type of the exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return [str(x.dtype).removeprefix("torch.") for x in flat(run())]
        except Exception as error:
            return type(error)


def _run_jax(record: Operator, call: Job, arrays: Any, dtype: str = "") -> Any:
    args, kwargs = call.rebuild(arrays)
    return jax_side(record)(*args, **kwargs, **({"dtype": dtype} if dtype else {}))


def _outcomes(record: Operator, call: Job, arrays: list[np.ndarray], dtype: str = "") -> Any:
    """Return torch's and JAX's dtypes or exceptions; None if they agree or both raise."""

    def run_torch() -> Any:
        args, kwargs = call.rebuild(to_torch(arrays))
        more = {"dtype": getattr(torch, dtype)} if dtype else {}
        return torch_side(record)(*args, **kwargs, **more)

    def shapes_of_jax() -> Any:
        """Return empty outputs; values are computed only if the function cannot be traced."""
        run, inputs = functools.partial(_run_jax, record, call, dtype=dtype), to_jax(arrays)
        outputs = jax.eval_shape(run, inputs) if record.jit else run(inputs)
        leaves = jax.tree.leaves(outputs)
        return [torch.empty(0, dtype=getattr(torch, str(x.dtype))) for x in leaves]

    expected, actual = _outcome(run_torch), _outcome(shapes_of_jax)
    both_raise = isinstance(expected, type) and isinstance(actual, type)
    return None if both_raise or expected == actual else (expected, actual)


def _named(kinds: str, reason: str, *names: str) -> dict[tuple[str, str], str]:
    return dict.fromkeys(itertools.product(names, kinds.split()), reason)


# Expected differences between torch and JAX when all floating arguments get a non-float dtype.
CONVERT = "JAX raises and says to convert: torch truncates the result to integers"
ONE_PLACE = "JAX raises: torch has no kernel, and accepts it only for windows of one element"
OTHER_KINDS = {
    **_named("int64", CONVERT, "max_pool1d", "max_pool2d", "max_pool3d"),
    **_named("bool", "JAX raises and says to convert", "unfold", "fold"),
    **_named("int64", CONVERT, "lp_pool2d", "lp_pool3d", "hinge_embedding_loss"),
    **_named("int64", CONVERT, "alpha_dropout", "feature_alpha_dropout"),
    **_named("int64 bool", CONVERT, "dropout", "dropout1d", "dropout2d", "dropout3d"),
    **_named("complex128", ONE_PLACE, "adaptive_avg_pool1d", "adaptive_avg_pool2d"),
    **_named("complex128", ONE_PLACE, "adaptive_avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d"),
    **_named(
        "int64", "torch truncates the result to integers, JAX returns floats",
        "avg_pool1d", "avg_pool2d", "avg_pool3d", "bilinear", "rnn_relu", "rnn_relu_cell",
        "addmm", "addmv", "addbmm", "baddbmm",
    ),
    **_named(
        "bool complex128", "JAX raises and says to convert: torch accepts some reductions",
        "index_reduce", "scatter_reduce",
    ),
    **_named("bool", "JAX raises and says to convert: torch's sum is a logical or", "addr"),
    **_named("int64", "the noise in the record is float64", "gumbel_softmax"),
    **_named("int64", "JAX raises: a second step would mix dtypes", "rnn_tanh"),
    **_named("int64", "torch rounds integers, but raises if `decimals=0` is written", "round"),
}  # fmt: skip


@pytest.mark.sampled(73)
@pytest.mark.parametrize("name", OPERATORS)
def test_integers_booleans_and_complex_numbers(name):
    """Integers, booleans and complex numbers give torch's dtypes, or an error as in torch."""
    record, disagreements = OPERATORS[name], {}
    for call, kind in itertools.product(_calls(record), ("int64", "bool", "complex128")):
        arrays = [_as(x, kind) if x.dtype.kind in "fc" else x for x in call.arrays]
        if outcomes := _outcomes(record, call, arrays):
            disagreements[kind] = (outcomes, call.names)

    known = {kind for other, kind in OTHER_KINDS if other == name}
    assert set(disagreements) == known, disagreements


# Operators whose values for integer inputs are expected to differ between torch and JAX.
OTHER_NUMBERS = {
    **dict.fromkeys(["local_response_norm", "lp_pool3d"], "torch truncates the means"),
    "distributions.inverse_gamma_log_prob": "torch truncates the reciprocal of the value to 0",
    "kthvalue": "torch leaves open which index of a tie it returns",
}


@pytest.mark.sampled(71)
@pytest.mark.parametrize("name", OPERATORS)
def test_values_for_integers(name):
    """If torch and JAX accept integers and return the same dtypes, they return the same values."""
    record, same = OPERATORS[name], True
    for call in sorted(_calls(record), key=lambda call: -sum(x.size for x in call.arrays))[:3]:
        arrays = [_as(x, "int64") if x.dtype.kind in "fc" else x for x in call.arrays]
        torch_call, run = call.rebuild(to_torch(arrays)), functools.partial(_run_jax, record, call)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = flat(torch_side(record)(*torch_call[0], **torch_call[1]))
            except Exception:
                continue
        if _outcomes(record, call, arrays) is None:
            actual = jax.tree.leaves((jax.jit(run) if record.jit else run)(to_jax(arrays)))
            same &= all(
                np.allclose(x, y, rtol=1e-5, atol=1e-5, equal_nan=True)
                for x, y in zip(to_numpy(expected), actual, strict=True)
            )

    assert same == (name not in OTHER_NUMBERS)


MIXED_KINDS = ("float32", "int64", "bool", "complex128")


# Expected differences between torch and JAX when one argument's dtype differs from the rest.
ONE_DNN = "torch's oneDNN accepts a bias of another dtype, and JAX raises"
BIAS = "torch accepts a bias of another dtype for a sequence, and JAX raises as for a cell"
AS_IF = "torch reinterprets a matrix of another dtype as one of B's dtype"
OTHER_MIXTURES = {
    **_named("float32 int64 bool complex128", ONE_DNN, "conv1d", "conv2d"),
    **_named("float32 int64 bool", ONE_DNN, "conv_transpose1d", "conv_transpose2d"),
    **_named("float32 int64 bool complex128", AS_IF, "linalg.solve_triangular"),
    **_named("float32 int64 bool", BIAS, "rnn_tanh", "rnn_relu", "lstm"),
    **_named("complex128", "JAX raises: torch promotes the state of a single step", "lstm"),
    **_named("float32 complex128", AS_IF, "distributions.multivariate_normal_log_prob"),
    **_named("complex128", AS_IF, "distributions.multivariate_normal_kl_divergence"),
    **_named(
        "int64 bool complex128", "JAX raises: torch truncates the statistics of each example",
        "instance_norm",
    ),
    **_named(
        "complex128", "JAX raises: a complex number is neither a weight nor a probability",
        "cross_entropy", "binary_cross_entropy_with_logits",
    ),
    **_named("bool", "JAX raises: torch draws the noise in the logits' dtype", "gumbel_softmax"),
    **_named(
        "float32 int64 bool", "the samples may have another dtype",
        "fractional_max_pool2d", "fractional_max_pool3d",
    ),
    **_named(
        "float32", "torch's result is float32",
        "huber_loss", "distributions.bernoulli_log_prob",
    ),
    **_named(
        "complex128", "JAX raises: torch drops the imaginary part of the number of trials",
        "distributions.binomial_log_prob", "distributions.negative_binomial_log_prob",
    ),
    **_named(
        "complex128", "JAX raises: torch accepts a complex 0 or 1 as a value",
        "distributions.bernoulli_log_prob", "distributions.continuous_bernoulli_log_prob",
    ),
}  # fmt: skip


@pytest.mark.sampled(67)
@pytest.mark.parametrize("name", OPERATORS)
def test_arguments_of_different_dtypes(name):
    """Arguments of different dtypes give outputs of torch's dtypes, or an error as in torch."""
    record, disagreements = OPERATORS[name], {}
    for call in _calls(record):
        places = [i for i, x in enumerate(call.arrays) if x.dtype == np.float64]
        for place, kind in itertools.product(places * (len(places) > 1), MIXED_KINDS):
            arrays = [_as(x, kind) if i == place else x for i, x in enumerate(call.arrays)]
            if outcomes := _outcomes(record, call, arrays):
                disagreements[kind] = (outcomes, call.names[place])

    known = {kind for other, kind in OTHER_MIXTURES if other == name}
    assert set(disagreements) == known, disagreements


@pytest.mark.sampled(9)
@pytest.mark.parametrize(
    "name",
    [n for n, x in OPERATORS.items() if "dtype" in inspect.signature(jax_side(x)).parameters],
)
def test_the_dtype_argument(name):
    """`dtype=` accepts the dtypes that torch accepts for each dtype of the input."""
    record = OPERATORS[name]
    for call, input, dtype in itertools.product(_calls(record, without="dtype"), KINDS, KINDS):
        arrays = [_as(x, input) for x in call.arrays]

        assert _outcomes(record, call, arrays, dtype) is None, (input, dtype)


def test_float64_arrays_of_numpy_become_float32_without_64_bits():
    """Without 64-bit types, a float64 numpy array has the same dtype as JAX's float32 arrays."""
    with jax.enable_x64(False):
        output = functional.linear(np.ones((1, 2)), jnp.ones((1, 2)))  # pyright: ignore[reportArgumentType]

        assert output.dtype == jnp.float32

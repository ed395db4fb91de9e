"""Programs are lowered for a GPU and a TPU, and what cannot be lowered is named."""

import dataclasses
import itertools

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np
import pytest
from jax.interpreters import mlir

from parity_tests.case import load
from parity_tests.devices.exports import unexpected
from parity_tests.devices.program import LoweredProgram, Refusal, refusals, with_gradient
from parity_tests.devices.programs import programs
from tests._helpers import ALL


only_on_the_cpu = jax.extend.core.Primitive("only_on_the_cpu")
only_on_the_cpu.def_abstract_eval(lambda x: x)
mlir.register_lowering(only_on_the_cpu, lambda ctx, x: [x], platform="cpu")
CALLS = None if ALL else 1  # of each program
PROGRAMS = [p for p in programs() if ALL or p.group != "helpers" or not load()[p.name].heavy]


def program(*calls, differentiate=False):
    return LoweredProgram("group", "name", "float32", lambda: iter(calls), differentiate)


@pytest.mark.sampled(303)
@pytest.mark.parametrize("chosen", PROGRAMS, ids=lambda p: p.id)
def test_a_public_function_lowers_for_a_gpu_and_a_tpu(chosen):
    """JAX lowers the program and its gradient for both, except where the table says otherwise."""
    first = dataclasses.replace(chosen, calls=lambda: itertools.islice(chosen.calls(), CALLS))
    assert unexpected(refusals(first)) == []


def test_a_program_that_a_device_cannot_run_is_refused():
    """A primitive with a rule for the CPU alone is refused with its name."""
    x = jnp.ones(3)
    refused = refusals(program((only_on_the_cpu.bind, (x,)), (jnp.sin, (x,))))

    reason = "JAX has no `only_on_the_cpu` there"
    assert refused == [Refusal("group/name/float32", "GPU and TPU", reason, (1, 2))]
    assert "cannot be lowered for GPU and TPU: JAX has no" in unexpected(refused)[0]


def test_a_gradient_that_a_device_cannot_run_is_refused():
    """A function whose gradient alone uses such a primitive is refused if it is differentiated."""

    @jax.custom_jvp
    def f(x):
        return jnp.sin(x)

    f.defjvp(lambda x, t: (f(*x), t[0] * only_on_the_cpu.bind(x[0])))
    call = (f, (jnp.ones(3),))

    assert refusals(program(call)) == []
    assert [r.devices for r in refusals(program(call, differentiate=True))] == ["GPU and TPU"]


def test_a_program_that_no_device_can_trace_is_reported_as_such():
    """An error while tracing is not blamed on a GPU or a TPU."""
    refused = refusals(program((lambda x: x[int(x.sum())], (jnp.ones(3),))))
    assert [r.devices for r in refused] == ["any device"]
    assert refused[0].reason == "a shape or a branch depends on the values of the arguments"


def test_a_program_without_calls_is_an_error():
    """A program that yields no call raises instead of counting as lowered."""
    with pytest.raises(ValueError, match="group/name/float32 has no call"):
        refusals(program())


def test_the_gradient_is_taken_with_respect_to_every_floating_argument():
    """`with_gradient` returns the arrays of the output and the gradients of their sum."""
    both = with_gradient(lambda x, n, tree: {"y": x * n, "name": "a", "z": tree["w"] ** 2})
    out, gradients = both(jnp.float32(2.0), 3, {"w": jnp.float32(5.0)})

    np.testing.assert_allclose(out, [6.0, 25.0])
    np.testing.assert_allclose(gradients, [3.0, 10.0])

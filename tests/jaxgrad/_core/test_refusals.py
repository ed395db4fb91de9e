"""Errors for torch values, non-functions and unlike trees, with the user's names."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import jaxgrad
from jaxgrad import functional, optim
from jaxgrad._core import refusals


REMEDY = " cannot be a torch tensor; pass a JAX array, as in jnp.asarray(x.detach().numpy())"
TENSOR = torch.ones(3, requires_grad=True)
ARRAYS, TENSORS = {"w": jnp.ones(3)}, {"w": TENSOR}
SGD = optim.sgd(lr=0.1)
# Values of types that the type checker would refuse.
THREE: Any = 3
TORCH: Any = TENSOR
NONE: Any = None
ROUND: Any = "round"
BFLOAT16: Any = torch.bfloat16


def total(params):
    """Sum a parameter."""
    return params["w"].sum()


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: functional.relu(TORCH), "argument 'input'"),
        (lambda: functional.linear(jnp.ones((2, 3)), TORCH), "argument 'weight'"),
        (lambda: jaxgrad.value_and_grad(total)(TENSORS), "'w' of argument 0 of total"),
        (lambda: jaxgrad.grad(jnp.sum)(TENSOR), "argument 0 of sum"),
        (lambda: jaxgrad.grad(lambda x: TENSOR.sum())(jnp.ones(3)), "the loss of <lambda>"),
        (lambda: jaxgrad.value_and_retained_grads(jnp.sum)(TENSORS), "'w' of argument 0 of sum"),
        (lambda: jaxgrad.clip_grad_norm(TENSORS, 1.0), "'w' of clip_grad_norm's grads"),
        (lambda: jaxgrad.clip_grad_value(TENSORS, 1.0), "'w' of clip_grad_value's grads"),
        (lambda: jaxgrad.hook(TENSOR, lambda g: g), "hook's x"),
        (lambda: jaxgrad.reverse_gradient(TENSORS), "'w' of reverse_gradient's x"),
        (lambda: SGD.init(TENSORS), "'w' of the parameters"),
        (lambda: SGD.step(TENSORS, SGD.init(ARRAYS), ARRAYS), "'w' of the gradients"),
    ],
)
def test_a_torch_tensor_is_named(call, what):
    """A torch tensor in place of an array raises an error with its name and the conversion."""
    with pytest.raises(TypeError) as error:
        call()
    assert str(error.value) == what + REMEDY


def test_a_torch_module_is_named():
    """A torch module in place of its parameters raises, instead of being a tree with one leaf."""
    with pytest.raises(TypeError) as error:
        SGD.init(torch.nn.Linear(2, 2))
    assert str(error.value) == (
        "the parameters cannot be a torch module; pass its arrays, as in "
        "{name: jnp.asarray(p.detach().numpy()) for name, p in module.named_parameters()}"
    )


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: jaxgrad.no_grad(torch.abs),
            "no_grad: fun must be a JAX function, but got torch's abs; "
            "pass a function of JAX arrays, such as jnp.abs",
        ),
        (
            lambda: jaxgrad.straight_through(torch.nn.functional.relu),
            "straight_through: fun must be a JAX function, but got torch's relu; "
            "pass a function of JAX arrays, such as jax.nn.relu",
        ),
        (
            lambda: jaxgrad.grad(torch.addmm)(jnp.ones(3)),
            "the function to differentiate must be a JAX function, but got torch's addmm; "
            "pass a function of JAX arrays",
        ),
        *(
            (
                lambda call=call: call(torch.sum, jnp.ones(3)),
                f"{name}: fun must be a JAX function, but got torch's sum; "
                "pass a function of JAX arrays, such as jnp.sum",
            )
            for name, call in {
                "autocast": lambda fun, x: jaxgrad.autocast(fun)(x),
                "depends_on": jaxgrad.depends_on,
                "saved_bytes": jaxgrad.saved_bytes,
                "saved_tensors_hooks": lambda fun, x: jaxgrad.saved_tensors_hooks(fun, abs, abs),
                "backward_graph": jaxgrad.graph.backward_graph,
            }.items()
        ),
        (
            lambda: jaxgrad.value_and_grad(torch.nn.Linear(3, 2))(jnp.ones(3)),
            "the function to differentiate must be a JAX function, but got a torch module, "
            "Linear; pass its JAX port, a function of arrays",
        ),
    ],
)
def test_a_function_of_torch_is_named(call, text):
    """A torch function or module in place of a JAX function raises before it is called."""
    with pytest.raises(TypeError) as error:
        call()
    assert str(error.value) == text


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: jaxgrad.no_grad(THREE), "no_grad: fun must be a function, but got 3"),
        (lambda: jaxgrad.hook(jnp.ones(3), THREE), "hook: fn must be a function, but got 3"),
        (
            lambda: jaxgrad.backward_hook(jnp.sin, NONE),
            "backward_hook: hook must be a function, but got None",
        ),
        (
            lambda: jaxgrad.straight_through(ROUND),
            "straight_through: fun must be a function, but got 'round'",
        ),
        (
            lambda: jaxgrad.grad(THREE)(jnp.ones(3)),
            "the function to differentiate must be callable, but got 3",
        ),
        (
            lambda: jaxgrad.from_function(THREE),
            "from_function: cls must be a class with static methods forward and backward, "
            "but got 3",
        ),
        (
            lambda: jaxgrad.clip_grad_value(ARRAYS, NONE),
            "clip_grad_value(grads, clip_value): clip_value must be a number, but got None",
        ),
        (
            lambda: jaxgrad.clip_grad_norm(1.0, ARRAYS),  # pyright: ignore[reportArgumentType]
            "clip_grad_norm(grads, max_norm): max_norm must be a number, but got a dict",
        ),
        (
            lambda: SGD.step(ARRAYS, ARRAYS),  # pyright: ignore[reportCallIssue]
            "step() missing 1 required positional argument: 'params'",
        ),
        (
            lambda: SGD.step(ARRAYS, None, ARRAYS),
            "step(grads, state, params): the state is None; pass the state that init(params), "
            "or the step before, returned",
        ),
        (lambda: functional.relu(NONE), "argument 'input' must be an array, not NoneType"),
        (
            lambda: optim.state_from_torch(SGD, ARRAYS, {"w": 1}),
            "state_from_torch(tx, params, state_dict): the state_dict must be torch's "
            "optimizer.state_dict(), with 'state' and 'param_groups', but got a dict with ['w']",
        ),
        (
            lambda: optim.state_from_torch(SGD, ARRAYS, NONE),
            "state_from_torch(tx, params, state_dict): the state_dict must be torch's "
            "optimizer.state_dict(), with 'state' and 'param_groups', but got NoneType",
        ),
    ],
)
def test_a_value_of_another_type_is_named(call, text):
    """A value that cannot be used raises a TypeError with the argument and the value."""
    with pytest.raises(TypeError) as error:
        call()
    assert str(error.value) == text


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: jaxgrad.clip_grad_norm(ARRAYS, 1.0, norm_type="ifn"),
            "clip_grad_norm: norm_type must be a number or \"inf\", but got 'ifn'",
        ),
        (
            lambda: jaxgrad.autocast(jnp.sin, dtype="bfloat61"),
            "autocast: dtype must be jnp.bfloat16 or jnp.float16, got 'bfloat61'",
        ),
        (
            lambda: jaxgrad.autocast(jnp.sin, dtype=BFLOAT16),
            "autocast: dtype must be jnp.bfloat16 or jnp.float16, got torch.bfloat16",
        ),
        (
            lambda: jaxgrad.accumulate({"w": 1.0, "b": 2.0}, {"v": 1.0, "b": None}),
            "accumulate: grads and new must have the same structure, but have the paths "
            "'w' only in grads and 'v' only in new",
        ),
        (
            lambda: jaxgrad.combine({"w": 1.0, "b": None}, {"w": None}),
            "combine: trainable and frozen must have the same structure, but have the paths "
            "'b' only in trainable",
        ),
        (
            lambda: jaxgrad.combine([1.0, None], (None, 1.0)),
            "combine: trainable and frozen must have the same structure, but have other containers",
        ),
    ],
)
def test_a_wrong_option_or_tree_is_named(call, text):
    """A misspelt option, or a tree with other leaves, raises a ValueError with both values."""
    with pytest.raises(ValueError) as error:  # noqa: PT011  # the whole text is compared
        call()
    assert str(error.value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "an int"), (1.5, "a float"), (np.ones(1), "an ndarray"), (jnp.ones(1), "an ArrayImpl"),
     ({}, "a dict"), (None, "None")],
    ids=str,
)  # fmt: skip
def test_a_type_has_its_article(value, text):
    """The article follows the sound of the type's name."""
    assert refusals.type_of(value) == text


def test_arrays_and_tracers_are_not_refused():
    """The check accepts arrays, numbers, tracers and None."""
    grads = jax.jit(jaxgrad.grad(total))(ARRAYS)
    clipped, _ = jax.jit(jaxgrad.clip_grad_norm)({**grads, "b": None}, 1.0)
    assert clipped["b"] is None

"""`no_grad`, `partition` and `combine` against torch's `no_grad` and `requires_grad_`."""

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import nnx
from jax import lax

import jaxgrad
from jaxgrad.parity.interop import to_jax, to_torch


V, W = np.array([0.5, 1.5, -2.0]), np.array([3.0, -1.0, 0.25])


@pytest.mark.parametrize("wrap", (lambda fun: fun, jax.jit, jax.checkpoint))
def test_no_grad_matches_torchs_block(wrap):
    """A function under `no_grad` contributes its value and no gradient, as torch's block does."""
    x, w = to_torch(V).requires_grad_(), to_torch(W).requires_grad_()
    with torch.no_grad():
        scale = (x * w).exp()
    (scale * x).sum().backward()

    @wrap
    def loss(x, w):
        return (jaxgrad.no_grad(lambda x, w: jnp.exp(x * w))(x, w) * x).sum()

    grad_x, grad_w = jaxgrad.grad(loss, (0, 1))(to_jax(V), to_jax(W))
    assert x.grad is not None
    np.testing.assert_allclose(grad_x, x.grad.numpy(), rtol=1e-15)
    assert w.grad is None and grad_w is None


def test_no_grad_stops_captured_and_keyword_values():
    """Values that the function captures, or takes by keyword, get no gradient either."""

    def loss(x, w):
        return (jaxgrad.no_grad(lambda *, scale: x * scale)(scale=w) * 2.0).sum()

    assert jaxgrad.grad(loss, (0, 1))(to_jax(V), to_jax(W)) == (None, None)


def test_no_grad_never_differentiates_the_body():
    """Under `no_grad`, a function may contain a while loop, which JAX cannot reverse."""

    def halve(x):
        return lax.while_loop(lambda x: jnp.abs(x).max() > 1.0, lambda x: x / 2.0, x)

    grad = jax.grad(lambda x: (jaxgrad.no_grad(halve)(x) * x).sum())(to_jax(V))
    np.testing.assert_array_equal(grad, V / 2.0)
    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work"):
        jax.grad(lambda x: (halve(x) * x).sum())(to_jax(V))


def test_no_grad_passes_other_leaves_on():
    """Leaves that are not JAX arrays are passed to the function, and returned, unchanged."""
    fun = jaxgrad.no_grad(lambda name, tree: (name, tree["n"], tree["x"]))
    array = np.ones(2)
    name, number, same = fun("a", {"n": 3, "x": array})

    assert (name, number) == ("a", 3) and same is array


def test_partition_freezes_what_torch_freezes():
    """Parameters that the predicate rejects get None, as after `requires_grad_(False)`."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)).double()
    model[0].requires_grad_(False)
    model(to_torch(V)).square().sum().backward()
    params: dict[str, dict[str, jax.Array]] = {"0": {}, "1": {}}
    for name, p in model.named_parameters():
        params[name[0]][name[2:]] = jnp.asarray(p.detach().numpy())
    names = []

    def is_trained(name, leaf):
        names.append(name)
        return name.startswith("1/") and leaf.ndim > 0

    def loss(trainable, frozen):
        x = to_jax(V)
        for layer in jaxgrad.combine(trainable, frozen).values():
            x = layer["weight"] @ x + layer["bias"]
        return (x**2).sum()

    trainable, frozen = jaxgrad.partition(params, is_trained)
    grads = jax.grad(loss)(trainable, frozen)
    assert {name.replace("/", ".") for name in names} == {n for n, _ in model.named_parameters()}
    assert grads["0"] == {"weight": None, "bias": None} == trainable["0"]
    assert frozen["1"] == {"weight": None, "bias": None}
    for name, p in model[1].named_parameters():
        assert p.grad is not None
        np.testing.assert_allclose(grads["1"][name], p.grad.numpy(), rtol=1e-12)


def test_a_partition_of_an_nnx_state():
    """The paths of a flax state end with the name of the variable, not with `value`."""
    state = nnx.State({"a": {"bias": nnx.Param(jnp.ones(1)), "kernel": nnx.Param(jnp.ones(2))}})
    trainable, frozen = jaxgrad.partition(state, lambda path, _: path.endswith("a/bias"))

    assert [x.size for x in jax.tree.leaves(trainable)] == [1]
    assert [x.size for x in jax.tree.leaves(frozen)] == [2]


def test_a_predicate_that_matches_no_leaf():
    """Nothing would be trained, so the error names the nearest paths; all or an empty tree pass."""
    layer = {"bias": jnp.ones(1), "kernel": jnp.ones(2)}
    tree = {"trunk": layer, "head": layer, "norm": {"scale": jnp.ones(1)}}
    text = (
        "partition: nothing would be trained, because the predicate matches no leaf. The nearest "
        "paths are 'head/bias', 'head/kernel', 'trunk/bias' and 'norm/scale', of 5. A path joins "
        "the keys of a leaf with '/', as in 'encoder/0/bias'. To freeze the whole tree, do not "
        "differentiate it"
    )
    with pytest.raises(ValueError, match=re.escape(text)):
        jaxgrad.partition(tree, lambda name, _: name.startswith("head."))

    assert jax.tree.leaves(jaxgrad.partition(tree, lambda *_: True)[1]) == []
    assert jaxgrad.partition({}, lambda *_: False) == ({}, {})


def test_combine_inverts_partition():
    """Combining the two parts returns the tree's own leaves; a None in both stays None."""
    tree = {"a": jnp.ones(2), "b": [jnp.zeros(1), None], "c": 3}
    parts = jaxgrad.partition(tree, lambda name, _: name in ("a", "c"))
    combined = jaxgrad.combine(*parts)

    assert jax.tree.structure(combined) == jax.tree.structure(tree)
    assert combined["a"] is tree["a"] and combined["b"][0] is tree["b"][0]
    assert combined["b"][1] is None and combined["c"] == 3


def test_partition_names_a_predicate_that_is_not_a_function():
    """A list of names in place of the predicate raises an error that shows a predicate."""
    with pytest.raises(TypeError) as error:
        jaxgrad.partition({"w": 1.0}, ["w"])  # pyright: ignore[reportArgumentType]
    assert str(error.value) == (
        "partition: predicate must be a function of (path, leaf), not ['w']; "
        "for example lambda path, leaf: path.startswith('head/')"
    )


def test_partition_names_the_arguments_of_its_predicate():
    """A predicate of the path alone, as `param_groups` takes, raises an error with the form."""
    one: Any = lambda path: path == "w"  # noqa: E731
    with pytest.raises(TypeError) as error:
        jaxgrad.partition({"w": 1.0}, one)
    assert str(error.value) == (
        "partition: predicate is called with (path, leaf), but it takes (path); "
        "write it as in lambda path, leaf: path.startswith('head/')"
    )
    assert jaxgrad.partition({"w": 1.0}, lambda *_: True) == ({"w": 1.0}, {"w": None})

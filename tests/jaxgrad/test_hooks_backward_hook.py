"""`jaxgrad.backward_hook` against torch's full backward hooks of modules."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax

import jaxgrad
from jaxgrad.parity.interop import cast, to_jax, to_torch
from tests._helpers import same


V, W, K = np.array([0.5, 1.5, -2.0]), np.array([3.0, -1.0, 0.25]), np.array([2, 0, 1])
DTYPES = ("float64", "float32")


def eager(fun: Any, **_: Any) -> Any:
    return fun


ROWS = np.stack([V, W])


class Module(torch.nn.Module):
    def __init__(self, fun):
        super().__init__()
        self.fun = fun

    def forward(self, *args, **kwargs):
        return self.fun(*args, **kwargs)


def torch_hooked(fun, answer, loss, args, moving):
    seen = []

    def hook(module, grad_inputs, grad_outputs):
        seen.append((grad_inputs, grad_outputs))
        return answer(grad_inputs, grad_outputs)

    module = Module(fun)
    module.register_full_backward_hook(hook)
    args = [to_torch(a) for a in args]
    for place in moving:
        args[place].requires_grad_()
    loss(module(*args)).backward()
    return seen, [args[place].grad for place in moving]


def jax_hooked(fun, answer, loss, args, moving):
    seen = []

    def hook(grad_inputs, grad_outputs):
        flat, structure = jax.tree.flatten((grad_inputs, grad_outputs))
        jax.debug.callback(lambda *leaves: seen.append(leaves), *flat)
        seen.append(structure)
        return answer(grad_inputs, grad_outputs)

    hooked = jaxgrad.backward_hook(fun, hook)
    grads = jax.grad(lambda *args: loss(hooked(*args)), tuple(moving))(*map(to_jax, args))
    jax.effects_barrier()
    structures = [s for s in seen if not isinstance(s, tuple)]
    calls = [s for s in seen if isinstance(s, tuple)]
    return [structures[0].unflatten(leaves) for leaves in calls], list(grads)


MODULES = {
    "one": (lambda a: a * 2.0, [V], [0]),
    "two": (lambda a, b: a * b, [V, W], [0, 1]),
    "an input that needs none": (lambda a, b: a * b, [V, W], [0]),
    "the first needs none": (lambda a, b: a * b, [V, W], [1]),
    "an integer input": (lambda a, k: a[k], [V, K], [0]),
    "a number and a string": (lambda a, b, c: a * b, [V, 3.0, "s"], [0]),
    "two outputs": (lambda a: (a * 2.0, a * a), [V], [0]),
    "three and three": (lambda a, b, c: (a * b, b * c, c * a), [V, W, V + W], [0, 1, 2]),
    "one in a tuple": (lambda a: (a * a,), [V], [0]),
    "an input it does not use": (lambda a, b: a * 2.0, [V, W], [0, 1]),
    "the same thing back": (lambda a: a, [V], [0]),
}
ANSWERS = {
    "watch": lambda gi, go: None,
    "change": lambda gi, go: (None if gi[0] is None else gi[0] * 10.0, *gi[1:]),
    "list": lambda gi, go: [None if g is None else g + 1 for g in gi],
    "use the outputs": lambda gi, go: (gi[0] * go[0] + go[-1], *gi[1:]),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("name", MODULES)
def test_backward_hook_gets_and_changes_torchs_gradients(name, answer, dtype):
    """The hook gets torch's tuples, Nones and zeros, and its result gives torch's gradients."""
    fun, args, moving = MODULES[name]
    args = cast(args, dtype)

    def loss(out):
        outs = out if isinstance(out, tuple) else (out,)
        return sum((o * (i + 2.0)).sum() for i, o in enumerate(outs))

    same(
        torch_hooked(fun, ANSWERS[answer], loss, args, moving),
        jax_hooked(fun, ANSWERS[answer], loss, args, moving),
    )


def test_an_integer_output_has_no_cotangent():
    """`grad_outputs` contains None for an integer output."""

    def loss(out):
        return out[0].sum()

    expected = torch_hooked(lambda a: (a * 2.0, a.long()), ANSWERS["watch"], loss, [V], [0])
    actual = jax_hooked(lambda a: (a * 2.0, a.astype(int)), ANSWERS["watch"], loss, [V], [0])
    same(expected, actual)


def test_an_output_that_is_not_used():
    """An unused output has zeros in `grad_outputs`, where torch has None (documented)."""
    fun, loss = (lambda a: (a * 2.0, a * a)), (lambda out: out[0].sum())
    (torch_seen, torch_grads) = torch_hooked(fun, ANSWERS["watch"], loss, [V], [0])
    (jax_seen, jax_grads) = jax_hooked(fun, ANSWERS["watch"], loss, [V], [0])
    same(torch_grads, jax_grads)
    assert torch_seen[0][1][1] is None
    np.testing.assert_array_equal(jax_seen[0][1][1], np.zeros(3))


def test_none_in_an_answer():
    """A None in the hook's result gives a zero gradient, where torch's `.grad` is None."""
    fun, answer = (lambda a, b: a * b), (lambda gi, go: (gi[0] * 10.0, None))
    _, torch_grads = torch_hooked(fun, answer, torch.sum, [V, W], [0, 1])
    _, jax_grads = jax_hooked(fun, answer, jnp.sum, [V, W], [0, 1])
    assert torch_grads[1] is None
    same(torch_grads[0], jax_grads[0])
    np.testing.assert_array_equal(jax_grads[1], np.zeros(3))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("answer", ("watch", "change", "use the outputs"))
@pytest.mark.parametrize("after", (lambda z: z, lambda z: z * z), ids=("linear", "square"))
def test_second_derivative_of_a_hooked_module(answer, after):
    """In a second derivative, the hook is called again only for cotangents of the outputs."""
    change = ANSWERS[answer]
    module = Module(lambda p: p**3)
    module.register_full_backward_hook(lambda m, gi, go: change(gi, go))
    x = to_torch(V).requires_grad_()
    (first,) = torch.autograd.grad(after(module(x * x)).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)

    def loss(x):
        return after(jaxgrad.backward_hook(lambda p: p**3, change)(x * x)).sum()

    for mode in (eager, jax.jit):
        grad = jax.grad(mode(loss))
        again = jax.grad(lambda x, grad=grad: grad(x).sum())
        same((first, second), (grad(to_jax(V)), mode(again)(to_jax(V))))


def test_parameters_keyword_arguments_and_other_uses_are_not_touched():
    """Only gradients of positional inputs change, not those of captured or keyword arguments."""

    def program(hooked, a, w, k):
        return (hooked(a, k=k) * w).sum() + (a * 100.0).sum()

    a, w, k = (to_torch(v).requires_grad_() for v in (V, W, V + W))
    module = Module(lambda a, *, k: a * w * k)
    module.register_full_backward_hook(lambda m, gi, go: (gi[0] * 0.5,))
    program(module, a, w, k).backward()

    def loss(a, w, k):
        hooked = jaxgrad.backward_hook(lambda a, *, k: a * w * k, lambda gi, go: (gi[0] * 0.5,))
        return program(hooked, a, w, k)

    same((a.grad, w.grad, k.grad), jax.grad(loss, (0, 1, 2))(to_jax(V), to_jax(W), to_jax(V + W)))


def test_two_backward_hooks_are_called_in_the_order_of_wrapping():
    """Nested backward hooks are called innermost first, as torch calls them by registration."""
    a = to_torch(V).requires_grad_()
    module = Module(lambda a: a * 2.0)
    module.register_full_backward_hook(lambda m, gi, go: (gi[0] + 1.0,))
    module.register_full_backward_hook(lambda m, gi, go: (gi[0] * 10.0 * go[0],))
    (module(a) * 3.0).sum().backward()
    fun = jaxgrad.backward_hook(lambda a: a * 2.0, lambda gi, go: (gi[0] + 1.0,))
    fun = jaxgrad.backward_hook(fun, lambda gi, go: (gi[0] * 10.0 * go[0],))
    same(a.grad, jax.grad(lambda a: (fun(a) * 3.0).sum())(to_jax(V)))


def test_backward_hook_in_vmap_scan_and_remat():
    """A hooked function works under `vmap`, `scan` and `jax.checkpoint`."""

    def loss(fun):
        def one(x):
            return (lax.scan(lambda c, _: (fun(c), None), x, None, length=3)[0]).sum()

        return one

    fun = jaxgrad.backward_hook(jnp.sin, lambda gi, go: (gi[0] * 2.0,))
    plain = jax.vmap(jax.grad(loss(jnp.sin)))(to_jax(ROWS)) * 8.0
    np.testing.assert_allclose(jax.vmap(jax.grad(loss(fun)))(to_jax(ROWS)), plain, rtol=1e-14)
    total = jax.jit(jax.grad(lambda rows: jax.vmap(loss(jax.checkpoint(fun)))(rows).sum()))
    np.testing.assert_allclose(total(to_jax(ROWS)), plain, rtol=1e-14)


def test_backward_hook_of_a_tree():
    """A dict argument has a dict of gradients, both in `grad_inputs` and in the result."""

    def layer(params, x):
        return {"out": params["w"] * x + params["b"], "count": params["n"]}

    def halve_w(grad_inputs, grad_outputs):
        (params, x), (out,) = grad_inputs, grad_outputs
        assert out["count"] is None and params["n"].dtype == int
        return {**params, "w": params["w"] * 0.5}, x

    def loss(w, b, x, fun):
        return (fun({"w": w, "b": b, "n": jnp.array(3)}, x)["out"] * 2.0).sum()

    args = to_jax(V), to_jax(W), to_jax(V + W)
    plain = jax.grad(loss, (0, 1, 2))(*args, layer)
    w, b, x = jax.grad(loss, (0, 1, 2))(*args, jaxgrad.backward_hook(layer, halve_w))
    same((plain[0] * 0.5, *plain[1:]), (w, b, x))


def test_backward_hook_of_a_function_that_branches_on_values():
    """Outside jit, a hooked function may use a Python `if` on values."""
    fun = jaxgrad.backward_hook(
        lambda x: x * 2.0 if x.sum() > 0 else -x, lambda gi, go: (gi[0] * 3.0,)
    )
    for sign, slope in ((1.0, 6.0), (-1.0, -3.0)):
        out = jax.grad(lambda x: fun(x).sum())(sign * jnp.ones(2))
        np.testing.assert_array_equal(out, [slope, slope])


def test_none_for_a_whole_tree():
    """A None for a whole tree argument gives zeros for each of its leaves."""
    fun = jaxgrad.backward_hook(
        lambda t, b: t["a"] * t["c"] * b, lambda gi, go: (None, gi[1] * 2.0)
    )
    t = {"a": to_jax(V), "c": to_jax(W)}
    tree, b = jax.grad(lambda t, b: fun(t, b).sum(), (0, 1))(t, jnp.ones(3))
    same((np.zeros(3), np.zeros(3), 2.0 * V * W), (tree["a"], tree["c"], b))


@pytest.mark.filterwarnings("ignore:Full backward hook is firing:UserWarning")
def test_constant_outputs_and_inputs():
    """Detached outputs, and a module whose inputs need no gradient, match torch's gradients."""

    def loss(out):
        return (out[0] * out[1]).sum()

    def still(a):
        return a * 2.0, lax.stop_gradient(a) * 3.0

    _, expected = torch_hooked(
        lambda a: (a * 2.0, a.detach() * 3.0), ANSWERS["change"], loss, [V], [0]
    )
    hooked = jaxgrad.backward_hook(still, ANSWERS["change"])
    same(expected, [jax.grad(lambda a: loss(hooked(a)))(to_jax(V))])

    x, w = to_torch(V), to_torch(W).requires_grad_()
    module = Module(lambda a: a * w)
    module.register_full_backward_hook(lambda m, gi, go: None)
    (module(x) ** 2).sum().backward()

    def with_parameter(w):
        hooked = jaxgrad.backward_hook(lambda a: a * w, lambda gi, go: (gi[0] * 7.0,))
        return (hooked(to_jax(V)) ** 2).sum()

    same(w.grad, jax.grad(with_parameter)(to_jax(W)))


def test_nothing_to_hook():
    """A function without floating point inputs or outputs is unchanged by a backward hook."""
    fun = jaxgrad.backward_hook(lambda a, b: a + 1, lambda gi, go: None)
    assert fun(jnp.array(1), "s") == 2
    assert jaxgrad.backward_hook(lambda a: a > 0, lambda gi, go: None)(1.5)
    assert jaxgrad.backward_hook(lambda: jnp.ones(2), lambda gi, go: None)().shape == (2,)


@pytest.mark.parametrize("count", (1, 3))
def test_wrong_number_of_grad_inputs(count):
    """A result with the wrong number of gradients raises torch's message."""
    words = f"returned an invalid number of grad_input, got {count}, but expected 2"

    def answer(gi, go):
        return (gi[0],) * count

    with pytest.raises(RuntimeError, match="Backward hook " + words):
        torch_hooked(lambda a, b: a * b, answer, torch.sum, [V, W], [0, 1])
    with pytest.raises(ValueError, match=f"backward hook 'answer' {words}: return None or a tuple"):
        jaxgrad.backward_hook(lambda a, b: a * b, answer)(to_jax(V), to_jax(W))


def test_a_number_in_place_of_grad_inputs_is_named():
    """The error says what the hook returned, with its article."""
    answer: Any = 1
    hooked = jaxgrad.backward_hook(lambda a, b: a * b, lambda gi, go: answer)

    with pytest.raises(ValueError, match="number of grad_input, got an int, but expected 2"):
        hooked(to_jax(V), to_jax(W))


def test_wrong_replacement_by_a_backward_hook():
    """Wrong shapes, dtypes or structures in a backward hook's result raise errors."""
    fun, x = (lambda a: a * 2.0), to_jax(V)
    with pytest.raises(ValueError, match="has changed the size of value.*float64.3.*float64.1."):
        jaxgrad.backward_hook(fun, lambda gi, go: (gi[0][:1],))(x)
    with pytest.raises(TypeError, match="has changed the type of value.*float64.3.*float32.3."):
        jaxgrad.backward_hook(fun, lambda gi, go: (gi[0].astype("float32"),))(x)
    with pytest.raises(ValueError, match=re.escape("expected 1: return None or a tuple")):
        jaxgrad.backward_hook(fun, lambda gi, go: gi[0])(x)
    with pytest.raises(TypeError, match="should return None or cotangents in the structure"):
        jaxgrad.backward_hook(lambda t: t["a"], lambda gi, go: (go[0],))({"a": x})

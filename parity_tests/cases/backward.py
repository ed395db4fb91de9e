"""Calling `backward`: on which output, with respect to which inputs, and what `.grad` then
holds.
"""

import jax
import jax.numpy as jnp
from jax import lax

import jaxgrad
from parity_tests.case import Deviation, Raises, case, identity
from parity_tests.cases._net import error_of, mlp, mse
from parity_tests.inputs import document, fixed, integers, normal, uniform
from parity_tests.inputs import linear as draw_linear


INTERMEDIATE = {"a": fixed([1, 2, 3]), "b": document([2.0, 3.0, 4.0])}
TWO = document(2.0, uniform(low=0.5, high=2.0))
MLP = {"l1": draw_linear(4, 6), "l2": draw_linear(6, 3)}


def _cross_entropy(logits, labels):
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)
    return -jnp.mean(picked)


@case(
    source="S1-01",
    inputs=INTERMEDIATE,
    idiom=("torch.autograd.grad(d, c)", "jax.grad(rest)(c)"),
    expect={"autograd.grad(d, c)": [1.0, 1.0, 1.0], "b.grad": [1.0, 2.0, 3.0]},
)
def grad_of_intermediate(a, b):
    """An intermediate has no `.grad` after `backward`; `autograd.grad(d, c)` gives its gradient."""

    def forward(b):
        return jnp.sum(a * b)

    c = a * b
    d, grad_c = jaxgrad.value_and_grad(jnp.sum)(c)
    _, grad_b, retained = jaxgrad.value_and_retained_grads(forward)(b)
    return {"d": d, "c.grad": retained.get("c"), "autograd.grad(d, c)": grad_c, "b.grad": grad_b}


@case(
    source="S2-03",
    inputs={"a": document(2.0), "b": document(3.0), "d": document(4.0)},
    idiom=("e.backward()", "jax.grad(fun, argnums=(0, 1, 2))"),
    expect={"e": 24.0, "a": 12.0, "b": 8.0, "d": 6.0, "c": None},
    picture=True,
)
def chain_rule(a, b, d):
    """`backward` fills the `.grad` of every leaf by the chain rule, and of no intermediate
    value.
    """

    def forward(leaves):
        c = leaves["a"] * leaves["b"]
        return c * leaves["d"]

    leaves = {"a": a, "b": b, "d": d}
    e, grads, retained = jaxgrad.value_and_retained_grads(forward)(leaves)
    return {"e": e, **grads, "c": retained.get("c")}


@case(
    source="S2-06",
    inputs={"x": document([2.0, 3.0, 4.0])},
    idiom=("x.unbind()", "jnp.unstack(x)"),
    expect={"e": 24.0, "x": [12.0, 8.0, 6.0]},
)
def unbind(x):
    """`x.grad` collects the gradients of all the parts that `unbind` returns."""

    def forward(x):
        b, c, d = jnp.unstack(x)
        return b * c * d

    e, grad = jaxgrad.value_and_grad(forward)(x)
    return {"e": e, "x": grad}


@case(
    source="S2-07",
    inputs=dict.fromkeys("abdfh", TWO),
    idiom=("c.requires_grad = True", "jax.grad(rest)(c)"),
    control={"stop_gradient": identity},
    expect={"k": 80.0, "c": 36.0, "h": -64.0, "a": None, "b": None},
)
def long_example(a, b, d, f, h, *, stop_gradient=lax.stop_gradient):
    """`c.requires_grad = True` in the middle makes c a leaf: nothing before c gets a gradient."""

    def forward(leaves):
        # c becomes a leaf: it keeps the value computed from a and b, but not the path back to them.
        c = stop_gradient(leaves["a"] * leaves["b"]) + leaves["c"]
        i = f * (d * c) / leaves["h"]
        j = i + leaves["h"]
        return j * i

    leaves = {"a": a, "b": b, "c": jnp.zeros_like(a), "h": h}
    k, grads = jaxgrad.value_and_grad(forward)(leaves)
    return {"k": k, **grads}


@case(
    source="S2-07",
    inputs={"g": document(16.0), "h": TWO},
    idiom=("h.grad", "g1 + g2 of jax.grad(fun, (0, 1))"),
    expect={"h": -64.0},
)
def several_uses(g, h):
    """The gradient of a tensor with two uses is the sum over both uses."""

    def forward(in_division, in_sum):
        i = g / in_division
        return (i + in_sum) * i

    _, grad = jaxgrad.value_and_grad(lambda h: forward(h, h))(h)
    _, (in_division, in_sum) = jaxgrad.value_and_grad(forward, argnums=(0, 1))(h, h)
    return {"h": grad, "in g/h": in_division, "in i+h": in_sum}


@case(
    source=("S2-07", "S2-08"),
    inputs={"c": document(4.0, uniform(low=0.5, high=2.0)), "d": TWO, "f": TWO, "h": TWO},
    idiom=("i.retain_grad()", 'i = jaxgrad.retain_grad(i, "i")'),
    control={"retain_grad": identity},
    expect={"k": 80.0, "i": 18.0, "j": None, "c": 36.0, "h": -64.0},
)
def retain_grad(c, d, f, h, *, retain_grad=jaxgrad.retain_grad):
    """`retain_grad()` keeps the gradient of an intermediate, summed over its uses."""

    def forward(leaves):
        i = retain_grad(f * (d * leaves["c"]) / leaves["h"], "i")
        j = i + leaves["h"]
        return j * i

    k, grads, retained = jaxgrad.value_and_retained_grads(forward)({"c": c, "h": h})
    return {"k": k, "i": retained.get("i"), "j": retained.get("j"), **grads}


@case(
    source="S2-10",
    inputs={"x": document(3.0), "gradient": document(0.05)},
    idiom=("y.backward(gradient=g)", "_, vjp = jax.vjp(fun, x); vjp(g)"),
    expect={"y": 9.0, "x": 0.3},
)
def cotangent(x, gradient):
    """`backward(gradient=g)` scales the gradient by the cotangent g."""
    y, vjp = jax.vjp(lambda x: x**2, x)
    (grad,) = vjp(gradient)
    return {"y": y, "x": grad}


@case(
    source="S3-01",
    inputs={"v1": document([1.0, 1.0]), "v2": document([2.0, 2.0])},
    idiom=("v1.requires_grad_()", "lax.stop_gradient(v2)"),
    control={"stop_gradient": identity},
    expect={"loss": 12.0, "v1": [2.0, 2.0], "v2": None},
)
def requires_grad(v1, v2, *, stop_gradient=lax.stop_gradient):
    """Only the tensor that requires a gradient gets one; the other's `.grad` stays None."""

    def forward(leaves):
        return jnp.sum((leaves["v1"] + stop_gradient(leaves["v2"])) * 2)

    loss, grads = jaxgrad.value_and_grad(forward)({"v1": v1, "v2": v2})
    return {"loss": loss, **grads}


@case(
    source="S3-02",
    inputs={"net": MLP, "x": normal(5, 4), "labels": integers(5, high=3), "epsilon": 0.25},
    idiom=("x + eps * x.grad.sign()", "x + eps * jnp.sign(grad)"),
)
def fgsm(net, x, labels, epsilon):
    """FGSM perturbs an input along the sign of the gradient with respect to that input."""

    def forward(x):
        return _cross_entropy(mlp(net, x), labels)

    loss, grad = jaxgrad.value_and_grad(forward)(x)
    adversarial = x + epsilon * jnp.sign(grad)
    return {"loss": loss, "x": grad, "adversarial": adversarial, "loss after": forward(adversarial)}


@case(
    source="S3-02",
    inputs={
        "table": normal(7, 4),
        "net": MLP,
        "ids": fixed([2, 5, 2, 0]),
        "labels": integers(4, high=3),
        "lr": 0.5,
    },
    idiom=("embedding(ids).requires_grad_()", "jax.grad(loss)(table[ids])"),
    control={"stop_gradient": identity},
)
def adjust_embedding(table, net, ids, labels, lr, *, stop_gradient=lax.stop_gradient):
    """A step on looked-up vectors updates each row separately, even repeated tokens; the table
    stays.
    """

    def forward(leaves):
        vectors = stop_gradient(leaves["table"])[ids] + leaves["moved"]
        return _cross_entropy(mlp(net, vectors), labels)

    def step(vectors, _):
        leaves = {"table": table, "moved": vectors - table[ids]}
        loss, grads = jaxgrad.value_and_grad(forward)(leaves)
        return vectors - lr * grads["moved"], (loss, grads)

    vectors, (losses, grads) = lax.scan(step, table[ids], length=3)
    return {
        "losses": losses,
        "vectors": vectors,
        "vectors.grad": grads["moved"][-1],
        "table.grad": grads["table"],
    }


@case(
    source="S4-01",
    inputs={"x": document(2.0), "y": document(3.0)},
    idiom=("z.backward(); x.grad, y.grad", "jax.grad(fun, argnums=(0, 1))(x, y)"),
    expect={"z": 31.0, "x": 4.0, "y": 27.0},
)
def two_inputs(x, y):
    """`backward` of z = x^2 + y^3 gives both partial derivatives."""
    z, (dx, dy) = jaxgrad.value_and_grad(lambda x, y: x**2 + y**3, argnums=(0, 1))(x, y)
    return {"z": z, "x": dx, "y": dy}


@case(
    source=("S4-02", "P148"),
    inputs={"x": document([1.0])},
    idiom=("loss.backward()  # again", "grads = jaxgrad.accumulate(grads, new)"),
    expect={"none yet": None, "once": [2.0], "twice": [4.0], "zero_()": [0.0], "zero_grad()": None},
)
def accumulate(x):
    """`.grad` accumulates over backward calls until `zero_()` (zeros) or `zero_grad()` (None)."""

    def backward(grad):
        _, new = jaxgrad.value_and_grad(lambda x: x**2)(x)
        return jaxgrad.accumulate(grad, new)

    none = None
    once = backward(none)
    twice = backward(once)
    zeros = jnp.zeros_like(twice)
    return {
        "none yet": none,
        "once": once,
        "twice": twice,
        "zero_()": zeros,
        "after zero_()": backward(zeros),
        "zero_grad()": none,
        "after zero_grad()": backward(none),
    }


@case(
    source="S4-03",
    inputs={
        "net": {"l1": draw_linear(2, 3), "l2": draw_linear(3, 1)},
        "x": document([[0.5, 0.3]]),
        "y": document([[0.7]]),
    },
    idiom=("model.named_parameters()", "jax.grad(loss)(params)"),
)
def simple_nn(net, x, y):
    """Every named parameter of a small network gets its gradient."""
    loss, grads = jaxgrad.value_and_grad(lambda net: mse(mlp(net, x), y))(net)
    return {"loss": loss, **grads}


@case(
    source="S4-06",
    inputs={"x": document([[1.0, 2.0], [3.0, 4.0]]), "gradient": normal(2, 2)},
    idiom=("y.backward(torch.ones_like(y))", "jax.vjp(fun, x)[1](jnp.ones_like(y))"),
    expect={"y.sum()": [[2.0, 4.0], [6.0, 8.0]]},
)
def non_scalar(x, gradient):
    """A non-scalar output is differentiated through its sum, or with a cotangent of its shape."""
    _, by_sum = jaxgrad.value_and_grad(lambda x: jnp.sum(x**2))(x)
    y, vjp = jax.vjp(lambda x: x**2, x)
    (grad,) = vjp(gradient)
    return {"y": y, "y.sum()": by_sum, "y.backward(gradient)": grad}


@case(
    source="S4-06",
    inputs={"x": document([[1.0, 2.0], [3.0, 4.0]])},
    idiom=("y.backward()  # raises", "jaxgrad.grad(fun)(x)  # raises"),
    deviation=Deviation(
        why="Both frameworks refuse; the exceptions differ.",
        torch_is=lambda x: {
            "y": x**2,
            "y.backward()": Raises(RuntimeError, "grad can be implicitly created only for scalar"),
        },
        jax_is=lambda x: {"y": x**2, "y.backward()": Raises(TypeError, "(2, 2)")},
    ),
)
def non_scalar_without_cotangent(x):
    """`backward()` on a non-scalar output raises and asks for a cotangent."""

    def square(x):
        return x**2

    return {"y": square(x), "y.backward()": error_of(lambda: jaxgrad.grad(square)(x))}


@case(
    source="S4-10",
    inputs={"x": document(3.0)},
    idiom=("y.backward(); x.grad", "jax.grad(fun)(x)"),
    expect={"y": 17.0, "x": 23.0},
)
def cubic(x):
    """The derivative of x^3 - 4x + 2 at 3 is 23."""
    y, grad = jaxgrad.value_and_grad(lambda x: x**3 - 4 * x + 2)(x)
    return {"y": y, "x": grad}

"""The backward graph: its nodes, edges and saved values; in JAX they are read from the jaxpr."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Literal

import jaxgrad
from parity_tests.case import Deviation, Raises, case, identity
from parity_tests.inputs import document, normal, uniform


ABD = {"a": normal(3), "b": normal(3), "d": normal(3)}


def _example(leaves, d):
    """Compute a small graph with a leaf that needs no gradient (d) and a result without a graph
    (n).
    """
    a, b = leaves["a"], leaves["b"]
    c = a * b
    e = c * d
    g = jnp.exp(e + a)
    return {"a": a, "b": b, "d": d, "c": c, "e": e, "g": g, "loss": jnp.sum(g), "n": d * 2}


def _that_require_grad(nodes, leaves):
    """Return the names of the values that require a gradient: those with a path from a leaf."""

    def gradient(name):
        return jaxgrad.grad(lambda leaves: jnp.sum(nodes(leaves)[name]))(leaves)

    return {
        name for name in nodes(leaves) if any(grad is not None for grad in gradient(name).values())
    }


@case(
    source="S2-01",
    inputs=ABD,
    idiom=("t.is_leaf, t.requires_grad, t.grad_fn", "jaxgrad.depends_on(fun, leaves)"),
)
def attributes(a, b, d):
    """Every tensor has `data`, `grad`, `grad_fn`, `is_leaf` and `requires_grad`; JAX derives
    them.
    """

    def nodes(leaves):
        return _example(leaves, d)

    leaves = {"a": a, "b": b}
    grads = jaxgrad.grad(lambda leaves: nodes(leaves)["loss"])(leaves)
    required = _that_require_grad(nodes, leaves)
    return {
        name: {
            "data": data,
            "grad": grads.get(name),
            "has a grad_fn": name in required and name not in leaves,
            "is_leaf": name not in required or name in leaves,
            "requires_grad": name in required,
        }
        for name, data in nodes(leaves).items()
    }


@case(
    source="S3-01",
    inputs={"v1": document([1.0, 1.0]), "v2": document([2.0, 2.0])},
    idiom=("v1.is_leaf, v1.requires_grad", "jax.grad(fun, argnums=0)(v1, v2)"),
    expect={"out": [6.0, 6.0], "v1": [2.0, 2.0]},
)
def leaf_flags(v1, v2):
    """A tensor that the user creates is a leaf; a result requires a gradient if an input does."""

    def nodes(leaves):
        return {"v1": leaves["v1"], "v2": v2, "out": (leaves["v1"] + v2) * 2}

    leaves = {"v1": v1}
    grads = jaxgrad.grad(lambda leaves: jnp.sum(nodes(leaves)["out"]))(leaves)
    required = _that_require_grad(nodes, leaves)
    return {
        "out": nodes(leaves)["out"],
        "v1": grads["v1"],
        "is_leaf": {name: name in leaves or name not in required for name in nodes(leaves)},
        "requires_grad": {name: name in required for name in nodes(leaves)},
    }


def _named_equations(nodes, leaves):
    """Return the primitive that computed each named value, and the names of its inputs."""
    closed, shapes = jax.make_jaxpr(nodes, return_shape=True)(leaves)
    names = dict(zip(closed.jaxpr.outvars, sorted(shapes), strict=True))
    named = [equation for equation in closed.jaxpr.eqns if equation.outvars[0] in names]
    return {
        names[equation.outvars[0]]: (
            equation.primitive.name,
            [names.get(v) for v in equation.invars if not isinstance(v, Literal)],
        )
        for equation in named
    }


def _names_pin(names):
    """Return a pin of `grad_fn`: the names of the operations behind c, e, g and the loss."""

    def pin(a, b, d):
        names_of_results = dict(zip(("c", "e", "g", "loss"), names, strict=True))
        loss = np.exp(a * b * d + a).sum()
        return {"loss": loss, "grad_fn": dict.fromkeys("abdn") | names_of_results}

    return pin


@case(
    source=("S2-01", "S2-02"),
    inputs=ABD,
    idiom=("type(t.grad_fn).__name__", "eqn.primitive.name"),
    deviation=Deviation(
        why="torch names a node after its backward function, JAX after its primitive.",
        torch_is=_names_pin(("MulBackward0", "MulBackward0", "ExpBackward0", "SumBackward0")),
        jax_is=_names_pin(("mul", "mul", "exp", "reduce_sum")),
    ),
)
def grad_fn(a, b, d):
    """Every result that requires a gradient names its backward function in `grad_fn`."""

    def nodes(leaves):
        return _example(leaves, d)

    leaves = {"a": a, "b": b}
    equations, required = _named_equations(nodes, leaves), _that_require_grad(nodes, leaves)
    names = {
        name: equations[name][0] if name in required and name in equations else None
        for name in nodes(leaves)
    }
    return {"loss": nodes(leaves)["loss"], "grad_fn": names}


@case(
    source="S2-02",
    inputs=ABD,
    idiom=("t.grad_fn.next_functions", "jax.make_jaxpr(fun)(x).eqns"),
    picture=True,
)
def next_functions(a, b, d):
    """`next_functions` lead from the loss to the leaves, with None for inputs without a
    gradient.
    """

    def nodes(leaves):
        c = leaves["a"] * leaves["b"]
        e = c * d
        g = e + leaves["a"]
        return {**leaves, "c": c, "d": d, "e": e, "g": g, "loss": jnp.sum(g)}

    leaves = {"a": a, "b": b}
    loss, grads = jaxgrad.value_and_grad(lambda leaves: nodes(leaves)["loss"])(leaves)
    edges = _inputs_of(_named_equations(nodes, leaves), _that_require_grad(nodes, leaves))
    return {"loss": loss, "a": grads["a"], "b": grads["b"], "next": edges}


def _inputs_of(equations, required):
    """Return the names of each equation's inputs, with None for inputs without a gradient."""
    return {
        name: [value if value in required else None for value in inputs]
        for name, (_, inputs) in equations.items()
    }


def _saved_by(op, operands, constants=()):
    """Return which operands and results an operation saves for its backward pass."""

    def kept(*operands):
        result, vjp = jax.vjp(lambda *operands: op(*operands, *constants), *operands)
        return result, jax.tree.leaves(vjp)

    # Only the names in the jaxpr matter here: the values that it returns are the saved ones.
    jaxpr = jax.make_jaxpr(kept)(*operands).jaxpr
    places = {var: f"operand {i}" for i, var in enumerate((*jaxpr.invars, *jaxpr.constvars))}
    result, *residuals = jaxpr.outvars
    places[result] = "result"
    saved = sorted(places.get(var, "derived") for var in residuals)
    return {"result": op(*operands, *constants), "saved": saved}


@case(
    source="S2-02",
    inputs={"x": uniform(3, 3, low=0.5, high=2.0), "y": normal(3, 3)},
    idiom=("x.grad_fn.saved_tensors", "jax.tree.leaves(jax.vjp(fun, x)[1])"),
)
def saved_tensors(x, y):
    """An operation saves for backward only what it needs: its factors, its result or nothing."""
    return {
        "x * y": _saved_by(jnp.multiply, (x, y)),
        "x * constant": _saved_by(jnp.multiply, (x,), (y,)),
        "x @ y": _saved_by(jnp.matmul, (x, y)),
        "x @ constant": _saved_by(jnp.matmul, (x,), (y,)),
        "x + y": _saved_by(jnp.add, (x, y)),
        "sum": _saved_by(jnp.sum, (x,)),
        "exp": _saved_by(jnp.exp, (x,)),
        "log": _saved_by(jnp.log, (x,)),
    }


def _saved_pin(sin, sqrt, square):
    def pin(x):
        return {
            "sin": {"result": np.sin(x), "saved": [sin]},
            "sqrt": {"result": np.sqrt(x), "saved": [sqrt]},
            "square": {"result": x**2, "saved": [square]},
        }

    return pin


@case(
    source="S2-02",
    inputs={"x": uniform(3, low=0.5, high=2.0)},
    idiom=("y.grad_fn.saved_tensors", "jax.tree.leaves(jax.vjp(fun, x)[1])"),
    deviation=Deviation(
        why="torch saves the operand or the result and computes the derivative in the "
        "backward pass. JAX computes the derivative in the forward pass and saves it.",
        torch_is=_saved_pin("operand 0", "result", "operand 0"),
        jax_is=_saved_pin("derived", "derived", "derived"),
    ),
)
def saved_derivative(x):
    """For sin, sqrt and square torch saves the operand or the result, JAX the derivative itself."""
    return {
        "sin": _saved_by(jnp.sin, (x,)),
        "sqrt": _saved_by(jnp.sqrt, (x,)),
        "square": _saved_by(jnp.square, (x,)),
    }


@case(
    source="S2-06",
    inputs={"x": document([2.0, 3.0, 4.0])},
    idiom=("x.unbind()", "lax.split(x, (1, 1, 1))"),
    expect={"x": [12.0, 8.0, 6.0]},
)
def unbind_node(x):
    """`unbind` is one node of the backward graph with three outputs."""

    def split(x):
        return lax.split(x, (1, 1, 1))

    def product(x):
        b, c, d = split(x)
        return jnp.squeeze(b * c * d)

    equations = jax.make_jaxpr(split)(x).jaxpr.eqns
    outputs = [number for equation in equations for number, _ in enumerate(equation.outvars)]
    return {"x": jaxgrad.grad(product)(x), "nodes": len(equations), "output_nr": outputs}


NOT_A_LEAF = Raises(RuntimeError, "you can only change requires_grad flags of leaf variables")


@case(
    source="S2-14",
    inputs={"a": document([2.0, 3.0])},
    idiom=("b.requires_grad = False  # raises", "b = lax.stop_gradient(b)"),
    control={"stop_gradient": identity},
    deviation=Deviation(
        why="Every torch tensor has `requires_grad`, which can be assigned on leaves only. "
        "JAX has no such flag: `stop_gradient` in the program stops a gradient.",
        torch_is=lambda a: {
            "loss": (2 * a * a).sum(),
            "a": 4 * a,
            "b.requires_grad_(True)": True,
            "b.requires_grad = True": NOT_A_LEAF,
            "b.requires_grad = False": NOT_A_LEAF,
            "b.requires_grad_(False)": NOT_A_LEAF,
        },
        jax_is=lambda a: {"loss": (2 * a * a).sum(), "a": 4 * a, "a, b cut": 2 * a},
    ),
)
def flag_on_non_leaf(a, *, stop_gradient=lax.stop_gradient):
    """On a non-leaf `requires_grad_(True)` is allowed, but assigning the flag raises, even True."""

    def forward(a, cut):
        b = cut(a * 2)
        return jnp.sum(b * a)

    loss, grad = jaxgrad.value_and_grad(lambda a: forward(a, lambda b: b))(a)
    _, rest = jaxgrad.value_and_grad(lambda a: forward(a, stop_gradient))(a)
    return {"loss": loss, "a": grad, "a, b cut": rest}


@case(
    source="S2-15",
    inputs={"w": document([[1.0, 1.0], [1.0, 1.0]])},
    idiom=("f = nn.Parameter(w @ x)", "f = lax.stop_gradient(w @ x)"),
    control={"stop_gradient": identity},
    expect={"w": None, "f": [3.0, 3.0]},
)
def parameter_of_intermediate(w, *, stop_gradient=lax.stop_gradient):
    """Wrapping an intermediate in `nn.Parameter` cuts the graph: f gets a gradient, w None."""

    def forward(leaves):
        # A new leaf that holds the value computed from w.
        f = stop_gradient(leaves["w"] @ jnp.ones_like(w[0])) + leaves["f"]
        return jnp.sum(f * 3)

    loss, grads = jaxgrad.value_and_grad(forward)({"w": w, "f": jnp.zeros_like(w[0])})
    return {"loss": loss, **grads}

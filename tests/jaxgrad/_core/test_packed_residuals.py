"""`saved_tensors_hooks`: what is packed, under every transformation, and what it refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxgrad


RNG = np.random.default_rng(0)
W, X = (jnp.asarray(RNG.standard_normal(shape), jnp.float32) for shape in ((5, 5), (3, 5)))


def same(fun):
    return jaxgrad.saved_tensors_hooks(fun, lambda x: x, lambda kept: kept)


def half(fun):
    return jaxgrad.saved_tensors_hooks(
        fun, lambda x: x.astype(jnp.bfloat16), lambda kept: kept.astype(jnp.float32)
    )


def integers(fun):
    def pack(x):
        step = jnp.max(jnp.abs(x)) / 127
        return jnp.round(x / step).astype(jnp.int8), step

    return jaxgrad.saved_tensors_hooks(fun, pack, lambda kept: kept[0] * kept[1])


def net(w, x):
    return jnp.sum(jnp.exp(jnp.tanh(x @ w.T)) ** 2)


def of_x(x):
    return net(W, x)


def in_scan(wrap):
    def fun(x):
        step = wrap(lambda c: jnp.sin(c @ W.T))
        return jnp.sum(lax.scan(lambda c, _: (step(c), None), x, None, length=3)[0] ** 2)

    return fun


def assert_close(found, expected, name="", rounding=2e-6):
    """Within a few roundings of the largest element."""
    scale = float(jnp.max(jnp.abs(expected)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=rounding * scale, err_msg=name)


def rounded(x):
    return x.astype(jnp.bfloat16).astype(jnp.float32)


def test_the_gradient_is_computed_from_what_was_kept():
    """`sin` keeps cos(x): its gradient is that in bfloat16, and the value is untouched."""
    value, grad = jax.value_and_grad(lambda x: jnp.sum(half(jnp.sin)(x)))(X)

    assert value == jnp.sum(jnp.sin(X))
    np.testing.assert_array_equal(grad, rounded(jnp.cos(X)))


@pytest.mark.parametrize(("wrap", "share"), [(same, 1.0), (half, 0.5), (integers, 0.25)])
def test_what_is_kept_is_packed(wrap, share):
    """The bytes are those of what `pack` returned (and of its step and a mark), by name."""
    kept = jaxgrad.saved_bytes(wrap(of_x), X)
    values = len(jaxgrad.saved_bytes(of_x, X).values)

    assert kept.by_kind == {"pack": kept}
    assert kept == share * jaxgrad.saved_bytes(of_x, X) + (8 * values if wrap is integers else 0)


def test_what_is_closed_over_is_kept_as_it_is():
    """Parameters are there anyway: those of the function's closure are not packed, nor views."""

    def loss(w, wrap):
        return wrap(lambda x: jnp.sum((x @ w.T) @ w.T))(X)

    def linear(x):
        return jnp.sum(x @ W.T)

    packed, plain = (jax.grad(wrap(linear))(X) for wrap in (half, same))
    np.testing.assert_array_equal(packed, plain)
    assert jaxgrad.saved_bytes(lambda w: loss(w, half), W).by_kind["pack"] == (15 + 15) * 2


@pytest.mark.parametrize("wrap", [same, half, integers])
def test_every_transformation_goes_on(wrap):
    """jit, vmap and checkpoint of it give its gradient; nested, the inner hooks are used."""
    grad = jax.grad(wrap(of_x))(X)
    ways = {
        "jit": jax.jit(jax.grad(wrap(of_x)))(X),
        "checkpoint": jax.grad(jax.checkpoint(wrap(of_x)))(X),
        "nested": jax.grad(half(wrap(of_x)))(X),
    }
    rows = jnp.stack([jax.grad(wrap(of_x))(row) for row in X[:, None]])

    for name, found in ways.items():
        assert_close(found, grad, name)
    assert_close(jax.vmap(jax.grad(wrap(of_x)))(X[:, None]), rows)
    assert wrap is same or not np.allclose(grad, jax.grad(of_x)(X), rtol=1e-5)


def test_in_a_scan_each_step_is_packed():
    """A step's values are kept in bfloat16, stacked, and the loop's gradient follows."""
    plain, packed = (jaxgrad.saved_bytes(in_scan(wrap), X) for wrap in (lambda f: f, half))

    assert packed.by_kind["pack"] * 2 == plain.by_kind["cos"]
    rounding = 3 * 2.0**-8  # of a value in each of three steps
    assert_close(jax.grad(in_scan(half))(X), jax.grad(in_scan(lambda f: f))(X), rounding=rounding)
    np.testing.assert_array_equal(jax.grad(in_scan(same))(X), jax.grad(in_scan(lambda f: f))(X))


@pytest.mark.parametrize(
    ("outer", "inner"), [(a, b) for a in ("fwd", "rev") for b in ("fwd", "rev")]
)
@pytest.mark.parametrize("fun", [lambda wrap: wrap(of_x), in_scan], ids=["plain", "scan"])
def test_a_second_derivative_goes_past_the_hooks(fun, outer, inner):
    """As if `unpack(pack(x))` were x."""
    twice = {"fwd": jax.jacfwd, "rev": jax.jacrev}
    found = twice[outer](twice[inner](fun(same)))(X)

    assert_close(found, jax.hessian(fun(lambda f: f))(X))
    rough = jax.jacrev(jax.grad(fun(half)))(X)
    assert 0 < jnp.max(jnp.abs(rough - found)) < 0.02 * jnp.max(jnp.abs(found))


def test_trees_integers_and_auxiliary_results():
    """Arguments and results are trees; integers among them pass by."""

    def fun(batch, scale=1.0):
        h = jnp.exp(batch["x"][batch["rows"]] * scale)
        return {"loss": jnp.sum(h), "rows": batch["rows"] + 1}

    batch = {"x": X, "rows": jnp.array([0, 2])}
    grad = jax.grad(lambda x: same(fun)({**batch, "x": x}, scale=2.0)["loss"])(X)

    np.testing.assert_array_equal(same(fun)(batch)["rows"], [1, 3])
    np.testing.assert_array_equal(grad, jax.grad(lambda x: fun({**batch, "x": x}, 2.0)["loss"])(X))


def test_other_rules_inside_are_used():
    """A custom_vjp and a hook inside a hooked function still have the last word."""

    @jax.custom_vjp
    def third(x):
        return x

    third.defvjp(lambda x: (x, None), lambda _, g: (3 * g,))

    def fun(x):
        return jnp.sum(jnp.sin(jaxgrad.hook(third(x), lambda g: 2 * g)))

    np.testing.assert_allclose(jax.grad(same(fun))(X), 6 * jnp.cos(X), rtol=1e-6)


def test_a_second_derivative_through_integers_is_refused():
    """Integers carry no tangent: instead of zero there is an error that names both."""
    with pytest.raises(TypeError, match=r"pack made \('int8\[3, 5\]', 'float32\[\]'\) of float32"):
        jax.hessian(integers(of_x))(X)


def test_a_step_from_outside_has_no_gradient():
    """What `pack` closes over has no part in a second derivative, which goes past the hooks."""

    def loss(step):
        hooked = jaxgrad.saved_tensors_hooks(
            jnp.sin, lambda x: (jnp.round(x / step).astype(jnp.int8), step), lambda k: k[0] * k[1]
        )
        return jnp.sum(jax.grad(lambda x: jnp.sum(hooked(x)))(X))

    assert jax.grad(loss)(jnp.float32(0.1)) == 0


def test_unpack_must_return_what_pack_was_given():
    """Another dtype is refused with both."""
    wrong = jaxgrad.saved_tensors_hooks(
        jnp.sin, lambda x: x.astype(jnp.bfloat16), lambda kept: kept
    )
    expected = r"unpack returned bfloat16\[3, 5\] for what pack was given as float32\[3, 5\]"

    with pytest.raises(TypeError, match=expected):
        jax.grad(lambda x: jnp.sum(wrong(x)))(X)


def test_the_host_keeps_it():
    """`device_put` to the host's memory: nothing is left on the device, and saved_bytes says so."""
    space = jax.memory.Space
    offloaded = jaxgrad.saved_tensors_hooks(
        of_x, lambda x: jax.device_put(x, space.Host), lambda x: jax.device_put(x, space.Device)
    )
    kept = jaxgrad.saved_bytes(offloaded, X)

    assert {value.memory for value in kept.values} == {"host"}
    assert_close(jax.jit(jax.grad(offloaded))(X), jax.grad(of_x)(X))

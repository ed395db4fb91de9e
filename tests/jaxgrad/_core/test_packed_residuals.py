"""`saved_tensors_hooks` packs residuals under every transformation and refuses a bad `unpack`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxgrad


RNG = np.random.default_rng(0)
W, X = (jnp.asarray(RNG.standard_normal(shape), jnp.float32) for shape in ((5, 5), (3, 5)))


def lossless(fun):
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


def assert_close(actual, expected, name="", rounding=2e-6):
    """Compare two arrays with a tolerance relative to the largest element."""
    scale = float(jnp.max(jnp.abs(expected)))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=rounding * scale, err_msg=name)


def rounded(x):
    return x.astype(jnp.bfloat16).astype(jnp.float32)


def test_the_gradient_is_computed_from_the_packed_residual():
    """The gradient of `sin` is its residual cos(x) rounded to bfloat16, but the value is exact."""
    value, grad = jax.value_and_grad(lambda x: jnp.sum(half(jnp.sin)(x)))(X)

    assert value == jnp.sum(jnp.sin(X))
    np.testing.assert_array_equal(grad, rounded(jnp.cos(X)))


@pytest.mark.parametrize(("wrap", "share"), [(lossless, 1.0), (half, 0.5), (integers, 0.25)])
def test_residuals_are_packed(wrap, share):
    """`saved_bytes` counts the bytes `pack` returns; `integers` adds 8 bytes per residual."""
    kept = jaxgrad.saved_bytes(wrap(of_x), X)
    values = len(jaxgrad.saved_bytes(of_x, X).values)

    assert kept.by_kind == {"pack": kept}
    assert kept == share * jaxgrad.saved_bytes(of_x, X) + (8 * values if wrap is integers else 0)


def test_captured_variables_are_not_packed():
    """Parameters that the function captures, and views of them, are kept without packing."""

    def loss(w, wrap):
        return wrap(lambda x: jnp.sum((x @ w.T) @ w.T))(X)

    def linear(x):
        return jnp.sum(x @ W.T)

    packed, plain = (jax.grad(wrap(linear))(X) for wrap in (half, lossless))
    np.testing.assert_array_equal(packed, plain)
    assert jaxgrad.saved_bytes(lambda w: loss(w, half), W).by_kind["pack"] == (15 + 15) * 2


@pytest.mark.sampled(3)
@pytest.mark.parametrize("wrap", [lossless, half, integers])
def test_transformations_compose(wrap):
    """A hooked function has the same gradient under jit, vmap, checkpoint and outer hooks."""
    grad = jax.grad(wrap(of_x))(X)
    grads = {
        "jit": jax.jit(jax.grad(wrap(of_x)))(X),
        "checkpoint": jax.grad(jax.checkpoint(wrap(of_x)))(X),
        "nested": jax.grad(half(wrap(of_x)))(X),
    }
    rows = jnp.stack([jax.grad(wrap(of_x))(row) for row in X[:, None]])

    for name, actual in grads.items():
        assert_close(actual, grad, name)
    assert_close(jax.vmap(jax.grad(wrap(of_x)))(X[:, None]), rows)
    assert wrap is lossless or not np.allclose(grad, jax.grad(of_x)(X), rtol=1e-5)


def test_each_iteration_of_a_scan_is_packed():
    """The stacked residuals of a scan are bfloat16, and its gradient is computed from them."""
    plain, packed = (jaxgrad.saved_bytes(in_scan(wrap), X) for wrap in (lambda f: f, half))

    assert packed.by_kind["pack"] * 2 == plain.by_kind["cos"]
    rounding = 3 * 2.0**-8  # one bfloat16 rounding in each of three steps
    assert_close(jax.grad(in_scan(half))(X), jax.grad(in_scan(lambda f: f))(X), rounding=rounding)
    np.testing.assert_array_equal(jax.grad(in_scan(lossless))(X), jax.grad(in_scan(lambda f: f))(X))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("outer", "inner"), [(a, b) for a in ("fwd", "rev") for b in ("fwd", "rev")]
)
@pytest.mark.parametrize("fun", [lambda wrap: wrap(of_x), in_scan], ids=["plain", "scan"])
def test_a_second_derivative_goes_past_the_hooks(fun, outer, inner):
    """The second derivative treats `unpack(pack(x))` as the identity."""
    twice = {"fwd": jax.jacfwd, "rev": jax.jacrev}
    hessian = twice[outer](twice[inner](fun(lossless)))(X)

    assert_close(hessian, jax.hessian(fun(lambda f: f))(X))
    rough = jax.jacrev(jax.grad(fun(half)))(X)
    assert 0 < jnp.max(jnp.abs(rough - hessian)) < 0.02 * jnp.max(jnp.abs(hessian))


def test_trees_integers_and_auxiliary_results():
    """Arguments and results may be pytrees, and their integer leaves pass through unchanged."""

    def fun(batch, scale=1.0):
        h = jnp.exp(batch["x"][batch["rows"]] * scale)
        return {"loss": jnp.sum(h), "rows": batch["rows"] + 1}

    batch = {"x": X, "rows": jnp.array([0, 2])}
    grad = jax.grad(lambda x: lossless(fun)({**batch, "x": x}, scale=2.0)["loss"])(X)

    np.testing.assert_array_equal(lossless(fun)(batch)["rows"], [1, 3])
    np.testing.assert_array_equal(grad, jax.grad(lambda x: fun({**batch, "x": x}, 2.0)["loss"])(X))


def test_custom_rules_inside_are_used():
    """The rule of a custom_vjp and a hook inside the function still determine its gradient."""

    @jax.custom_vjp
    def third(x):
        return x

    third.defvjp(lambda x: (x, None), lambda _, g: (3 * g,))

    def fun(x):
        return jnp.sum(jnp.sin(jaxgrad.hook(third(x), lambda g: 2 * g)))

    np.testing.assert_allclose(jax.grad(lossless(fun))(X), 6 * jnp.cos(X), rtol=1e-6)


def test_a_second_derivative_through_integers_is_refused():
    """A second derivative raises if `pack` returns integers, which carry no tangent."""
    with pytest.raises(TypeError, match=r"turned float32\[3, 5\] into \('int8\[3, 5\]', 'float"):
        jax.hessian(integers(of_x))(X)


def test_a_variable_captured_by_pack_has_no_gradient():
    """A variable that `pack` captures has zero gradient, because derivatives bypass the hooks."""

    def loss(step):
        hooked = jaxgrad.saved_tensors_hooks(
            jnp.sin, lambda x: (jnp.round(x / step).astype(jnp.int8), step), lambda k: k[0] * k[1]
        )
        return jnp.sum(jax.grad(lambda x: jnp.sum(hooked(x)))(X))

    assert jax.grad(loss)(jnp.float32(0.1)) == 0


def test_unpack_must_restore_the_dtype():
    """If `unpack` changes a dtype, the error names that dtype and the one `pack` received."""
    wrong = jaxgrad.saved_tensors_hooks(
        jnp.sin, lambda x: x.astype(jnp.bfloat16), lambda kept: kept
    )
    expected = r"unpack returned bfloat16\[3, 5\], but pack was given float32\[3, 5\]"

    with pytest.raises(TypeError, match=expected):
        jax.grad(lambda x: jnp.sum(wrong(x)))(X)


def test_residuals_can_be_offloaded_to_the_host():
    """With `device_put` as `pack`, `saved_bytes` reports that all residuals are on the host."""
    space = jax.memory.Space
    offloaded = jaxgrad.saved_tensors_hooks(
        of_x, lambda x: jax.device_put(x, space.Host), lambda x: jax.device_put(x, space.Device)
    )
    kept = jaxgrad.saved_bytes(offloaded, X)

    assert {value.memory for value in kept.values} == {"host"}
    assert_close(jax.jit(jax.grad(offloaded))(X), jax.grad(of_x)(X))

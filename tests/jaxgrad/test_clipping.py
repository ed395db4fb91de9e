"""`jaxgrad.clipping` matches torch.nn.utils for every norm, dtype and special value."""

from __future__ import annotations

import functools
import itertools
import re

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from jax.experimental import checkify
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

import jaxgrad
from jaxgrad.parity.interop import to_jax, to_numpy, to_torch
from tests import _helpers


NAN, INF = float("nan"), float("inf")
DTYPES = ("float64", "float32", "bfloat16", "float16")
NORMS = (2.0, 1.0, 3.0, 0.5, 2.5, 0.0, INF, -INF, -1.0, -2.0, "inf")
MODES = {"eager": lambda f: f, "jit": jax.jit}


def torch_clip(clip, grads, *args, **kwargs):
    """Clip with a torch function, which works in place on `.grad`; None means no gradient."""
    params = []
    for g in grads:
        g = None if g is None else to_torch(g).reshape(g.shape)  # noqa: PLW2901
        params.append(torch.nn.Parameter(torch.zeros(()) if g is None else torch.zeros_like(g)))
        params[-1].grad = g
    norm = clip(params, *args, **kwargs)
    return [p.grad for p in params], norm


same = functools.partial(_helpers.same, ulp=4)


def draw(*shapes: tuple[int, ...], dtype: str = "float64", scale: float = 1.0) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [np.asarray(jnp.asarray(rng.normal(size=s) * scale, dtype)) for s in shapes]


# --- by norm --------------------------------------------------------------------------------------


@pytest.mark.sampled(9)
@pytest.mark.parametrize(
    ("norm_type", "dtype", "mode"),
    list(itertools.product(NORMS, DTYPES, MODES)),
    ids=repr,
)
def test_every_norm(norm_type, dtype, mode):
    """Clipped gradients and the norm equal torch's, above and below the maximum."""
    grads = [*draw((3, 4), (5,), (), dtype=dtype), None]
    for max_norm in (0.5, 1e4):
        clip = MODES[mode](lambda g, m=max_norm: jaxgrad.clip_grad_norm(g, m, norm_type))
        same(torch_clip(clip_grad_norm_, grads, max_norm, norm_type), clip(to_jax(grads)))


def test_a_norm_that_is_the_maximum_is_clipped():
    """Gradients whose norm equals the maximum shrink because of the epsilon, to torch's bits."""
    for values, dtype in (
        ([3.0, 4.0], "float32"),
        ([3.0, 4.0], "float64"),
        ([0.3, 0.4], "float32"),
    ):
        grads = [np.array(values, dtype)]
        clipped, norm = jaxgrad.clip_grad_norm(to_jax(grads), float(np.linalg.norm(grads[0])))
        (expected,), _ = torch_clip(clip_grad_norm_, grads, float(np.linalg.norm(grads[0])))
        assert to_numpy(clipped[0]).tobytes() == to_numpy(expected).tobytes()
        assert (np.abs(clipped[0]) < np.abs(grads[0])).all() and norm.dtype == dtype


def test_the_factor_has_torchs_bits():
    """The clipping factor is bit-identical to torch's, which rounds `max_norm / x` twice."""
    rng = np.random.default_rng(1)
    for value, maximum in np.exp(rng.uniform(-8, 8, size=(1000, 2))).astype("float32"):
        grads = [np.array([value])]
        (expected,), _ = torch_clip(clip_grad_norm_, grads, float(maximum))
        (clipped,), _ = jaxgrad.clip_grad_norm(to_jax(grads), float(maximum))
        assert to_numpy(clipped).tobytes() == to_numpy(expected).tobytes(), (value, maximum)


MIXES = (
    ("bfloat16", "float32"),
    ("float16", "bfloat16"),
    ("float32", "float64"),
    ("float64", "float32", "float16"),
    ("complex128", "float64"),
    ("complex64", "complex64"),
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("norm_type", (2.0, 1.0, INF, 0.0, 3.0))
@pytest.mark.parametrize("dtypes", MIXES, ids="-".join)
def test_mixed_dtypes(dtypes, norm_type):
    """The norm has the widest dtype of the gradients, and each gradient keeps its own."""
    grads = [draw((4,), dtype=d)[0] * np.asarray(2.0 + i, d) for i, d in enumerate(dtypes)]
    grads = [g + 1j * g[::-1] if np.iscomplexobj(g) else g for g in grads]
    grads = [g.astype(d) for g, d in zip(grads, dtypes, strict=True)]
    same(
        torch_clip(clip_grad_norm_, grads, 1.0, norm_type),
        jaxgrad.clip_grad_norm(to_jax(grads), 1.0, norm_type),
    )


ODD = {
    "nan": [[NAN, 1.0], [2.0]],
    "inf": [[INF, 1.0], [-2.0]],
    "minus inf": [[-INF, -1.0], [2.0]],
    "inf and nan": [[INF], [NAN]],
    "zeros": [[0.0, -0.0], [0.0]],
    "overflow": [[1e30, 1e30], [1.0]],
    "underflow": [[1e-30, 1e-30], [0.0]],
    "tiny": [[5e-7], [1e-8]],
}


@pytest.mark.sampled(7)
@pytest.mark.parametrize("max_norm", (1.0, 0.0, -1.0, INF, NAN))
@pytest.mark.parametrize("norm_type", (2.0, 1.0, 0.0, 3.0, INF, -INF))
@pytest.mark.parametrize("name", ODD)
def test_special_values(name, norm_type, max_norm):
    """Gradients and maxima that are NaN, infinite, zero or negative give torch's results."""
    grads = [np.array(g, "float32") for g in ODD[name]]
    same(
        torch_clip(clip_grad_norm_, grads, max_norm, norm_type),
        jaxgrad.clip_grad_norm(to_jax(grads), max_norm, norm_type),
    )


def test_half_precision_overflow():
    """A float16 norm is summed in float32 and rounded to float16, so 85,000 becomes inf."""
    for values in ([300.0, 400.0], [60000.0, 60000.0]):
        grads = [np.array(values, "float16")]
        same(torch_clip(clip_grad_norm_, grads, 1.0), jaxgrad.clip_grad_norm(to_jax(grads), 1.0))


@pytest.mark.parametrize("grads", ([], [None], [None, None]), ids=str)
def test_no_gradients(grads):
    """Without any gradient the norm is a float32 zero and the tree is returned unchanged."""
    assert torch_clip(clip_grad_norm_, grads, 1.0)[1].dtype == torch.float32
    clipped, norm = jaxgrad.clip_grad_norm(grads, 1.0)
    assert clipped == grads and norm.dtype == jnp.float32 and norm.shape == () and norm == 0


def test_empty_gradients():
    """An empty gradient has norm 0, or raises for orders that have no identity."""
    grads = [np.zeros((0, 2)), np.array([3.0, 4.0])]
    for p in (2.0, 1.0, 0.0, 0.5):
        same(
            torch_clip(clip_grad_norm_, grads, 1.0, p),
            jaxgrad.clip_grad_norm(to_jax(grads), 1.0, p),
        )
    for p in (INF, -INF, -1.0):
        with pytest.raises(RuntimeError, match="does not have an identity"):
            torch_clip(clip_grad_norm_, grads, 1.0, p)
        words = (
            rf"cannot compute the {p:g} norm of an empty gradient \(shape \(0, 2\)\).*leave that"
        )
        with pytest.raises(ValueError, match=words):
            jaxgrad.clip_grad_norm(to_jax(grads), 1.0, p)


def test_float0_gradients_are_unchanged():
    """A float0 leaf, JAX's gradient of an integer, is returned unchanged."""
    grads = jax.grad(lambda x, k: x * k, (0, 1), allow_int=True)(3.0, 2)
    clipped, norm = jaxgrad.clip_grad_norm(grads, 1.0)
    assert norm == 2.0 and clipped[1] is grads[1] and clipped[0] < 1.0
    assert jaxgrad.clip_grad_value(grads, 1.0)[1] is grads[1]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("bad", (NAN, INF, -INF))
def test_error_if_nonfinite(bad):
    """A non-finite norm raises torch's message, both eagerly and under checkify."""
    grads = [np.array([1.0, bad])]
    words = "The total norm of order 2.0 for gradients"
    rest = "non-finite, so it cannot be clipped. To disable this error and scale the gradients by"
    with pytest.raises(RuntimeError, match=words) as torch_s:
        torch_clip(clip_grad_norm_, grads, 1.0, error_if_nonfinite=True)
    with pytest.raises(RuntimeError, match=words) as jax_s:
        jaxgrad.clip_grad_norm(to_jax(grads), 1.0, error_if_nonfinite=True)
    assert rest in str(torch_s.value) and rest in str(jax_s.value)

    def clip(g):
        return jaxgrad.clip_grad_norm(g, 1.0, error_if_nonfinite=True)[1]

    for mode in MODES.values():
        error, _ = mode(checkify.checkify(clip))(to_jax(grads))
        with pytest.raises(checkify.JaxRuntimeError, match=words):
            error.throw()
        error, norm = mode(checkify.checkify(clip))([jnp.array([3.0, 4.0])])
        error.throw()
        assert norm == 5.0
    assert clip([jnp.array([3.0, 4.0])]) == 5.0
    with pytest.raises(ValueError, match="checkify"):
        jax.jit(clip)(to_jax(grads))


def test_trees_vmap_and_a_traced_maximum():
    """Under `vmap`, each batch element has its own norm and its own traced maximum."""
    rows = {"w": jnp.array([[3.0, 4.0], [0.3, 0.4]]), "b": [jnp.array([12.0, 0.0]), None]}
    maxima = jnp.array([2.0, 1.0])
    clipped, norms = jax.jit(jax.vmap(jaxgrad.clip_grad_norm))(rows, maxima)
    for i in range(2):
        row = [to_numpy(rows["w"][i]), to_numpy(rows["b"][0][i])]
        (w, b), norm = torch_clip(clip_grad_norm_, row, float(maxima[i]))
        same((w, b, norm), (clipped["w"][i], clipped["b"][0][i], norms[i]))
    assert clipped["b"][1] is None


def test_in_a_scan():
    """A training loop with clipping inside `scan` gives the parameters of torch's loop."""
    start = draw((4,))[0] * 10.0
    p = torch.nn.Parameter(to_torch(start))
    for _ in range(5):
        p.grad = None
        (p**4).sum().backward()
        clip_grad_norm_([p], 1.0)
        assert p.grad is not None
        p.data -= 0.5 * p.grad

    def step(p, _):
        grad, norm = jaxgrad.clip_grad_norm(jax.grad(lambda p: (p**4).sum())(p), 1.0)
        return p - 0.5 * grad, norm

    same(p.detach(), jax.lax.scan(step, to_jax(start), None, length=5)[0], ulp=64)


def test_it_is_differentiable():
    """The clipped gradient can be differentiated, where torch's works in place."""
    x = jnp.array([3.0, 4.0])
    slope = jax.grad(lambda x: jaxgrad.clip_grad_norm(x, 1.0)[0][0])(x)
    unit = x / 5.0
    np.testing.assert_allclose(slope, (jnp.array([1.0, 0.0]) - unit * unit[0]) / 5.0, rtol=1e-5)


def test_optax_has_no_epsilon():
    """`optax.clip_by_global_norm` has no epsilon and keeps a norm equal to the maximum."""
    grads = jnp.array([3.0, 4.0])
    clipped, _ = optax.clip_by_global_norm(5.0).update(grads, optax.EmptyState())
    np.testing.assert_allclose(jnp.asarray(clipped), grads, rtol=1e-15)
    np.testing.assert_allclose(jaxgrad.clip_grad_norm(grads, 5.0)[0], grads * (5.0 / 5.000001))
    assert (jaxgrad.clip_grad_norm(grads, 5.0)[0] < grads).all()


# --- by value -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("bound", (1.0, 0.3, 0.0, -1.0, INF, NAN, 2))
@pytest.mark.parametrize("dtype", ("float64", "float32", "bfloat16", "float16"))
def test_clip_grad_value(dtype, bound, mode):
    """Clipping by value is bit-identical to torch's, even for NaN, infinities and signed zeros."""
    values = [NAN, INF, -INF, 3.0, -0.5, 0.0, -0.0, 0.3, -1.0]
    grads = [np.asarray(jnp.asarray(values, dtype)), None, np.zeros((0, 2), dtype)]
    clipped = MODES[mode](lambda g: jaxgrad.clip_grad_value(g, bound))(to_jax(grads))
    expected, _ = torch_clip(clip_grad_value_, grads, bound)
    same(expected, clipped, ulp=0)
    finite = ~np.isnan(to_numpy(expected[0]).astype(float))
    assert (np.signbit(to_numpy(expected[0])) == np.signbit(to_numpy(clipped[0])))[finite].all()


def test_clip_grad_value_with_a_traced_bound():
    """The bound for clipping may be traced or mapped by `vmap`."""
    out = jax.vmap(jaxgrad.clip_grad_value, (None, 0))(
        [jnp.array([-3.0, 0.5])], jnp.array([1.0, 0.1])
    )
    np.testing.assert_array_equal(out[0], [[-1.0, 0.5], [-0.1, 0.1]])


def test_clip_grad_value_refuses():
    """Complex gradients, and bounds that overflow the dtype, raise torch's message."""
    with pytest.raises(NotImplementedError, match="clamp is not supported for complex types"):
        torch_clip(clip_grad_value_, [np.array([3.0 + 4.0j])], 1.0)
    with pytest.raises(TypeError, match="clamp is not supported for complex types: a gradient is"):
        jaxgrad.clip_grad_value([jnp.array([3.0 + 4.0j])], 1.0)
    with pytest.raises(RuntimeError, match="without overflow"):
        torch_clip(clip_grad_value_, [np.array([3.0], "float16")], 1e6)
    words = re.escape(
        "clip_value 1000000.0 cannot be converted to float16 without overflow; the lar"
    )
    with pytest.raises(ValueError, match=words):
        jaxgrad.clip_grad_value([jnp.array([3.0], "float16")], 1e6)

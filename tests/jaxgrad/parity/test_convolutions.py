"""Fast forms of float64 convolutions have the values of lax's own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxgrad._core.jaxpr import walk
from jaxgrad.parity import convolutions
from jaxgrad.parity.convolutions import is_slow, with_fast_convolutions


LAYOUTS = {
    "torch": ("NCHW", "OIHW", "NCHW"),
    "flax": ("NHWC", "HWIO", "NHWC"),
}


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def in_layout(x: np.ndarray, old: str, new: str) -> np.ndarray:
    return x.transpose([old.index(letter) for letter in new])


def slow_equations(fun, *args) -> int:
    return sum(is_slow(place.eqn) for place in walk(jax.make_jaxpr(fun)(*args)))


def require_same(fun, *args) -> None:
    faster = with_fast_convolutions(fun)
    assert slow_equations(fun, *args) and not slow_equations(faster, *args)
    runs = (jax.tree.leaves(jax.jit(run)(*args)) for run in (fun, faster))
    for old, new in zip(*runs, strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-10, atol=1e-12)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("groups", (1, 2, 4))
@pytest.mark.parametrize("stride, dilation", ((1, 1), (2, 1), (1, 2), ((2, 1), (1, 3))))
def test_convolutions_and_their_gradients(layout, groups, stride, dilation):
    numbers = LAYOUTS[layout]
    x = in_layout(random(2, 4, 9, 8), "NCHW", numbers[0])
    w = in_layout(random(4, 4 // groups, 3, 2, seed=1), "OIHW", numbers[1])
    strides, dilations = (
        [int(n) for n in np.broadcast_to(given, 2)] for given in (stride, dilation)
    )

    def fun(x, w):
        y = lax.conv_general_dilated(
            x, w, strides, ((2, 1), (0, 3)), rhs_dilation=dilations,
            feature_group_count=groups, dimension_numbers=numbers,
        )  # fmt: skip
        return jnp.sum(y**3), y

    require_same(jax.grad(fun, (0, 1), has_aux=True), x, w)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("padding", ("SAME", "VALID", ((-1, 2), (3, -1))))
def test_transposed_convolutions(padding):
    x, w = random(2, 3, 7, 6), random(4, 3, 3, 4, seed=1)

    def fun(x, w):
        pads = padding if not isinstance(padding, str) else lax.padtype_to_pads(
            (13, 11), (3, 4), (1, 1), padding
        )  # fmt: skip
        return jnp.sum(lax.conv_general_dilated(x, w, (1, 1), pads, lhs_dilation=(2, 2)) ** 2)

    require_same(fun, x, w)
    require_same(jax.grad(fun, (0, 1)), x, w)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kernel", (1, 4, 5, 9))
@pytest.mark.parametrize("groups", (1, 2))
def test_the_gradient_of_patches_is_a_matrix_product(kernel, groups):
    """The gradient has no convolution over inserted zeros, whatever the length of the kernel."""
    x, w = random(2, 4, 17, 13), random(6, 4 // groups, kernel, 4, seed=1)

    def fun(x):
        y = lax.conv_general_dilated(
            x, jnp.asarray(w), (4, 4), ((0, 2), (1, 0)), feature_group_count=groups
        )
        return jnp.sum(y**3)

    grad = jax.grad(fun)
    require_same(grad, x)
    program = jax.make_jaxpr(with_fast_convolutions(grad))(x)
    names = [place.eqn.primitive.name for place in walk(program)]
    wide = [place.eqn for place in walk(program) if "lhs_dilation" in place.eqn.params]
    assert "dot_general" in names and all(max(e.params["lhs_dilation"]) == 1 for e in wide)


@pytest.mark.parametrize("rank", (1, 3))
def test_signals_and_volumes(rank):
    x, w = random(2, 4, *[6] * rank), random(6, 2, *[3] * rank, seed=1)

    def fun(x, w):
        y = lax.conv_general_dilated(x, w, [2] * rank, [(0, 0)] * rank, feature_group_count=2)
        return jnp.sum(y**2)

    require_same(jax.grad(fun, (0, 1)), x, w)


def test_convolutions_inside_other_equations():
    """A batch of kernels becomes groups; loops, branches and checkpoints are entered."""
    x, w = random(3, 2, 4, 6), random(3, 4, 4, 3, seed=1)

    def convolve(x, w):
        return lax.conv_general_dilated(x, w, (1,), ((2, 2),))[..., :6]

    def fun(x, w):
        y = jax.vmap(convolve)(x, w)
        y, _ = lax.scan(lambda y, w: (jax.checkpoint(convolve)(y, w), None), y[0], w)
        y = lax.cond(y[0, 0, 0] > 0, lambda y: convolve(y, w[0]), jax.jit(jnp.sin), y)
        return jnp.sum(y**2)

    require_same(fun, x, w)
    require_same(jax.grad(fun, (0, 1)), x, w)


def test_other_convolutions_stay():
    x, w = random(2, 20, 9, 8), random(4, 20, 3, 3, seed=1)

    def fun(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1)))

    program = str(jax.make_jaxpr(fun)(x, w))
    assert str(jax.make_jaxpr(with_fast_convolutions(fun))(x, w)) == program
    assert slow_equations(fun, x[:, :4], w[:, :4])
    assert not slow_equations(fun, *map(np.float32, (x[:, :4], w[:, :4])))


def test_a_depthwise_convolution_is_slow_in_its_gradient_alone():
    x, w = random(2, 4, 9, 8), random(4, 1, 3, 3, seed=1)

    def fun(x, w):
        strides, padding = (2, 2), ((1, 1), (1, 1))
        y = lax.conv_general_dilated(x, w, strides, padding, feature_group_count=4)
        return jnp.sum(y**2)

    assert not slow_equations(fun, x, w)
    require_same(jax.grad(fun, (0, 1)), x, w)


def test_products_of_a_part_of_the_kernel_are_added(monkeypatch):
    """The copies of a large input do not fit in one product."""
    monkeypatch.setattr(convolutions, "_LARGEST", 1000)
    x, w = random(2, 4, 9, 8), random(4, 4, 3, 3, seed=1)
    require_same(lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME"), x, w)


def test_a_kernel_of_very_many_elements_stays_a_convolution(monkeypatch):
    monkeypatch.setattr(convolutions, "_MOST", 8)
    x, w = random(2, 4, 9, 8), random(4, 4, 3, 3, seed=1)

    def fun(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), ((2, 2), (2, 2)))

    np.testing.assert_allclose(with_fast_convolutions(fun)(x, w), fun(x, w), rtol=1e-10)
    names = [p.eqn.primitive.name for p in walk(jax.make_jaxpr(with_fast_convolutions(fun))(x, w))]
    assert names[-1] == "conv_general_dilated"


def test_a_tree_of_arguments_with_none():
    x, w = random(2, 4, 9), random(4, 4, 3, seed=1)

    def fun(tree, rest):
        y = lax.conv_general_dilated(tree["x"], tree["w"], (1,), ((2, 2),))
        return {"y": y, "none": rest[0]}

    require_same(fun, {"x": x, "w": w}, (None,))


# Shape of the input, kernel, stride, padding and dilation: parts of the kernel or of the output
# read only the padding, or the output has few positions.
PADDED = {
    "one position": ((2, 20, 1, 1), (24, 20, 3, 3), 1, ((1, 1), (1, 1)), 1),
    "one row": ((2, 20, 1, 6), (24, 20, 3, 3), 1, ((1, 1), (1, 1)), 1),
    "stride": ((2, 20, 2, 2), (24, 20, 3, 3), 2, ((1, 1), (1, 1)), 1),
    "few positions": ((2, 20, 2, 2), (24, 20, 3, 3), 1, ((1, 1), (1, 1)), 1),
    "dilation": ((2, 20, 3, 3), (24, 20, 3, 3), 1, ((4, 4), (4, 4)), 4),
    "one side": ((2, 20, 2, 5), (24, 20, 4, 3), 1, ((3, 0), (0, 2)), 1),
    "outputs beyond the input": ((2, 20, 3, 3), (24, 20, 2, 2), 2, ((5, 4), (0, 3)), 1),
    "negative padding": ((2, 20, 5, 3), (24, 20, 3, 3), 1, ((-2, 2), (1, 1)), 1),
}


@pytest.mark.parametrize("name", PADDED)
def test_what_reads_only_the_padding_is_left_out(name):
    """Values and gradients are those of the convolution with its padding."""
    shape, kernel, stride, padding, dilation = PADDED[name]

    def fun(x, w):
        y = lax.conv_general_dilated(
            x, w, (stride, stride), padding, rhs_dilation=(dilation, dilation)
        )
        return jnp.sum(jnp.sin(y)), y

    require_same(jax.grad(fun, (0, 1), has_aux=True), random(*shape), random(*kernel, seed=1))


def test_a_kernel_that_reads_nothing_gives_zeros():
    """No element of the kernel reaches the input."""
    x, w = random(1, 20, 1, 1), random(24, 20, 1, 1, seed=1)

    def fun(x, w):
        return lax.conv_general_dilated(x, w, (3, 3), ((1, 0), (1, 0)))

    assert not np.any(with_fast_convolutions(fun)(x, w))


def test_a_large_table_of_positions_is_not_made(monkeypatch):
    """A kernel of a long signal is left as it is."""
    monkeypatch.setattr(convolutions, "_LARGEST_TABLE", 2)
    x, w = random(2, 20, 1, 1), random(24, 20, 3, 3, seed=1)

    def fun(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1)))

    np.testing.assert_allclose(with_fast_convolutions(fun)(x, w), fun(x, w), rtol=1e-10)

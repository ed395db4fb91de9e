"""The calls of `jax.random` are found in a program, and matched with torch's numbers in order."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.record.jax_side.keys import Keys
from jaxgrad.parity.prove.record.jax_side.sites import matched, sites, with_repeats
from jaxgrad.parity.prove.record.noise import Noise


KEY = jax.random.key(0)
X = np.ones((2, 3))


def listed(fn: Any) -> Any:
    program = jax_program.program(fn, {"w": np.ones(3)}, (X,))
    return program, sites(program, set(program.equations))


def noises(*shapes: tuple[int, ...], kind: str = "bernoulli") -> list[Noise]:
    """Return numbers that tell which array they belong to."""
    arrays = [np.full(shape, float(n)) for n, shape in enumerate(shapes)]
    return [Noise(kind, x, x) for x in arrays]


@pytest.mark.parametrize(
    ("fn", "samplers"),
    [
        (lambda p, x: x * jax.random.bernoulli(KEY, 0.3, x.shape), ["uniform"]),
        (lambda p, x: x * jax.random.bernoulli(jax.random.PRNGKey(0), 0.3, x.shape), ["uniform"]),
        (lambda p, x: x + jax.random.normal(KEY, x.shape), ["normal"]),
        (lambda p, x: x + jax.random.gumbel(KEY, x.shape), ["gumbel"]),
        (lambda p, x: x + jax.random.exponential(KEY, x.shape), ["exponential"]),
        (jax.checkpoint(lambda p, x: x + jax.random.uniform(KEY, x.shape)), ["uniform"]),
        (lambda p, x: x * jax.random.split(KEY).shape[0], []),
    ],
)
def test_calls_of_samplers_are_found(fn, samplers):
    """Each call is found once, with its own shape, whatever calls it makes itself."""
    _, found = listed(fn)
    assert [site.sampler for site in found] == samplers
    assert all(site.shape == (2, 3) and site.lengths == () for site in found)


def two(p: Any, x: Any) -> Any:
    x = x * jax.random.bernoulli(KEY, 0.3, x.shape)
    return (x @ p["w"]) * jax.random.bernoulli(KEY, 0.3, (2,))


def test_numbers_are_matched_in_program_order():
    """Sites get torch's numbers of their size in order; what has no counterpart is listed."""
    program, found = listed(two)
    both = matched(program, found, noises((2, 3), (2,)))
    assert [int(x) for x in both.sources] == [0, 1] and not both.unused and not both.extra
    second = matched(program, found, noises((2,)))
    assert second.sites == (found[1],) and second.extra == (found[0].path,)
    more = matched(program, found, noises((2, 3), (5,), (2,)))
    assert [int(x) for x in more.sources] == [0, 2] and more.unused == (1,)
    assert not matched(program, found, noises((2, 3), kind="normal")).sites


def test_numbers_of_the_same_shape_are_preferred():
    """Of two masks of one size, the one with torch's shape gets torch's numbers."""

    def fn(p: Any, x: Any) -> Any:
        first, second = jax.random.split(jax.random.key(0))
        x = x.reshape(3, 2) * jax.random.bernoulli(first, 0.5, (3, 2))
        return x.reshape(2, 3) * jax.random.bernoulli(second, 0.5, (2, 3))

    program, found = listed(fn)
    injection = matched(program, found, noises((5, 5), (2, 3)))
    assert [site.shape for site in injection.sites] == [(2, 3)]
    assert injection.unused == (0,) and len(injection.extra) == 1


def test_fewer_numbers_along_an_axis_are_shared():
    """A site of torch's size is preferred; without one, a site that shares numbers is taken."""
    program, found = listed(lambda p, x: x * jax.random.bernoulli(KEY, 0.3, (2, 1)))
    injection = matched(program, found, noises((2, 3)))
    assert injection.sites == tuple(found) and not injection.unused and not injection.extra
    program, found = listed(two)
    both = matched(program, found, noises((2,), (2, 3)))
    assert [int(x) for x in both.sources] in ([0], [1]) and len(both.extra) == 1
    assert not matched(program, found, noises((4, 5))).sites


@pytest.mark.parametrize("reverse", [False, True])
def test_the_iterations_of_a_scan_get_their_numbers(reverse):
    """Two sites in a scan of two steps take torch's four arrays in the order of execution."""

    def step(x: Any, w: Any) -> Any:
        x = x * jax.random.bernoulli(KEY, 0.3, x.shape)
        return x + w * jax.random.normal(KEY, x.shape), None

    program, found = listed(
        lambda p, x: lax.scan(step, x, jnp.stack([p["w"], p["w"]]), reverse=reverse)[0]
    )
    drawn = [*noises((2, 3)), *noises((2, 3), kind="normal")] * 2
    injection = matched(program, found, drawn)
    order = [[2, 0], [3, 1]] if reverse else [[0, 2], [1, 3]]
    assert [x.tolist() for x in injection.sources] == order
    shapes = {x.shape for x in injection.values(drawn).values()}
    assert shapes == {(2, 2, 3)}


def test_the_lines_of_masks_are_those_of_uniform_samplers():
    """Only uniform numbers can be reflected; each line is listed once, at the user's call."""

    def fun(p: Any, x: Any) -> Any:
        for _ in range(2):
            x = x * jax.random.bernoulli(KEY, 0.3, x.shape)
        return x + jax.random.normal(KEY, x.shape)

    program, found = listed(fun)
    first = fun.__code__.co_firstlineno
    assert [site.line for site in found] == [
        (f"test_sites.py:{first + n}",) for n in (2, 2, 3)
    ]  # fmt: skip
    injection = matched(program, found, noises((2, 3), (2, 3)))
    assert injection.lines == [(f"test_sites.py:{first + 2}",)]


def test_an_output_must_depend_on_a_sampler():
    """A call whose path no output uses, or inside a `while`, is left out."""

    def loop(p: Any, x: Any) -> Any:
        body = lambda c: (c[0] + 1, c[1] * jax.random.uniform(KEY, (2, 3)))  # noqa: E731
        return lax.while_loop(lambda c: c[0] < 2, body, (0, x))[1]

    program = jax_program.program(two, {"w": np.ones(3)}, (X,))
    paths = [site.path for site in sites(program, set(program.equations))]
    assert [site.path for site in sites(program, {paths[1]})] == [paths[1]]
    assert listed(loop)[1] == []


def test_nested_loops_take_their_numbers_in_the_order_of_execution():
    """Two sites in an inner loop of two steps alternate in each step of the outer loop."""

    def step(x: Any, _: Any) -> Any:
        x = x * jax.random.bernoulli(KEY, 0.3, x.shape)
        return x + jax.random.normal(KEY, x.shape), None

    def outer(x: Any, _: Any) -> Any:
        return jax.jit(lambda x: lax.scan(step, x, None, length=2)[0])(x), None

    program, found = listed(lambda p, x: lax.scan(outer, x, None, length=2)[0])
    drawn = [*noises((2, 3)), *noises((2, 3), kind="normal")] * 4
    injection = matched(program, found, drawn)

    assert [site.lengths for site in found] == [(2, 2), (2, 2)]
    assert [x.tolist() for x in injection.sources] == [[[0, 2], [4, 6]], [[1, 3], [5, 7]]]


def test_a_function_of_the_users_is_no_sampler():
    """A user's function with the name of a sampler is not taken for a sampler."""

    def _uniform(x: Any) -> Any:
        return x + 1

    assert listed(lambda p, x: jax.jit(_uniform)(x))[1] == []

    def _normal(x: Any) -> Any:
        return x + jax.random.bits(KEY, x.shape), x

    assert listed(lambda p, x: jax.jit(_normal)(x)[0])[1] == []


def test_numbers_after_the_last_site_are_unused():
    """The sites may end before torch's numbers do, or torch's numbers before the sites."""
    program, found = listed(two)
    longer = matched(program, found, noises((2, 3), (2,), (5,), (6,)))
    assert [int(x) for x in longer.sources] == [0, 1] and longer.unused == (2, 3)
    shorter = matched(program, found, noises((2, 3)))
    assert shorter.sites == (found[0],) and shorter.extra == (found[1].path,)


def test_only_a_tight_site_depends_on_the_probability():
    """A mask lies close to torch's probability there, and close to 0 and 1 elsewhere."""
    program, found = listed(two)
    mask = np.array([1.0, 0.0])
    drawn = [Noise("bernoulli", x, x, 0.7) for x in (np.ones((2, 3)), mask)]
    injection = matched(program, found, drawn)
    last = found[1].path

    loose = injection.values(drawn)[last]
    np.testing.assert_allclose(loose, [0, 1], atol=1e-5)
    tight = dataclasses.replace(injection, tight=last).values(drawn)
    np.testing.assert_allclose(tight[last], [0.7, 0.7], atol=1e-3)
    np.testing.assert_allclose(tight[found[0].path], 0, atol=1e-5)
    reflected = dataclasses.replace(injection, reflected=frozenset({found[1].line}))
    np.testing.assert_allclose(reflected.values(drawn)[last], [1, 0], atol=1e-5)


def test_a_draw_with_the_key_of_an_earlier_one_gets_its_numbers():
    """Other shapes, other samplers and unknown keys are draws of their own."""

    def fn(p: Any, x: Any) -> Any:
        x = x * jax.random.bernoulli(KEY, 0.3, x.shape) * jax.random.bernoulli(KEY, 0.3, x.shape)
        x = x * jax.random.bernoulli(jax.random.key(1), 0.3, x.shape)
        return x + jax.random.normal(KEY, x.shape) + jax.random.bernoulli(KEY, 0.3, (3,))

    program, found = listed(fn)
    keys = Keys(program, program.leaves)
    numbers = [*noises((2, 3), (2, 3)), *noises((2, 3), kind="normal"), *noises((3,))]
    injection = with_repeats(program, found, numbers, keys)

    pairs = zip(injection.sites, injection.sources, strict=True)
    assert {found.index(s): int(x) for s, x in pairs} == {
        0: 0, 1: 0, 2: 1, 3: 2, 4: 3,
    }  # fmt: skip
    assert not injection.extra and not injection.unused
    lacking = with_repeats(program, found, [numbers[2]], keys)
    assert [found.index(s) for s in lacking.sites] == [3]
    assert lacking.extra == tuple(found[n].path for n in (0, 1, 2, 4))

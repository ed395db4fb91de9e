"""The line search of torch's LBFGS: bracket a strong Wolfe point, then zoom in on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


C1, C2, TOLERANCE_CHANGE = 1e-4, 0.9, 1e-9  # torch's, whatever the optimizer's tolerances


class Point(NamedTuple):
    """A step length, the loss there, its gradient, and its slope along the search direction."""

    t: Any
    f: Any
    g: Any
    gtd: Any


class _Search(NamedTuple):
    previous: Point
    new: Point
    iteration: Any
    accepted: Any  # whether `new` satisfies the strong Wolfe conditions
    bracketed: Any


class _Zoom(NamedTuple):
    bracket: Point  # two points, stacked in no particular order
    low: Any  # index of the point with the lower loss
    iteration: Any
    done: Any
    insufficient: Any


def strong_wolfe(
    evaluate: Callable[[Any], tuple[Any, Any]], start: Point, t: Any, d: Any, max_ls: Any
) -> tuple[Point, jax.Array]:
    """Return the final point of the line search, and the number of evaluations.

    Args:
        evaluate: Maps a step length to the loss and its gradient.
        start: The point at step length 0.
        t: First trial step length.
        d: Search direction.
        max_ls: Maximum number of iterations.
    """

    def at(t: Any) -> Point:
        f, g = evaluate(t)
        return Point(t, f, g, jnp.dot(g, d))

    def too_high(point: Point) -> Any:
        return point.f > start.f + C1 * point.t * start.gtd

    def flat(point: Point) -> Any:
        return abs(point.gtd) <= -C2 * start.gtd

    def verdict(previous: Point, new: Point, iteration: Any) -> _Search:
        high = too_high(new) | ((iteration > 1) & (new.f >= previous.f))
        accepted = ~high & flat(new)
        return _Search(previous, new, iteration, accepted, high | accepted | (new.gtd >= 0))

    def extrapolate(s: _Search) -> _Search:
        t, before = s.new.t, s.previous.t
        further = _cubic_interpolate(s.previous, s.new, (t + 0.01 * (t - before), t * 10))
        return verdict(s.new, at(further), s.iteration + 1)

    first = verdict(start, at(t), jnp.zeros((), np.int32))
    # after the last iteration, torch does not check the conditions
    search = lax.while_loop(lambda s: (s.iteration < max_ls) & ~s.bracketed, extrapolate, first)
    exhausted = search.iteration >= max_ls
    other = _where(search.accepted, search.new, search.previous)
    other = _where(exhausted, start, other)

    d_norm = jnp.max(jnp.abs(d))

    def narrow(z: _Zoom) -> Any:
        return abs(z.bracket.t[1] - z.bracket.t[0]) * d_norm < TOLERANCE_CHANGE

    def zoom(z: _Zoom) -> _Zoom:
        low, high = z.low, 1 - z.low
        t = _cubic_interpolate(_pick(z.bracket, 0), _pick(z.bracket, 1))
        left, right = _min(*z.bracket.t), _max(*z.bracket.t)
        margin = 0.1 * (right - left)
        near = _min(right - t, t - left) < margin
        moved = near & (z.insufficient | (t >= right) | (t <= left))
        inside = jnp.where(abs(t - right) < abs(t - left), right - margin, left + margin)
        new = at(jnp.where(moved, inside, t))

        shrink = too_high(new) | (new.f >= z.bracket.f[low])
        done = ~shrink & flat(new)
        swap = ~shrink & ~done & (new.gtd * (z.bracket.t[high] - z.bracket.t[low]) >= 0)
        bracket = _put(z.bracket, high, _where(swap, _pick(z.bracket, low), _pick(z.bracket, high)))
        bracket = _put(bracket, jnp.where(shrink, high, low), new)
        low = jnp.where(shrink, _lower(bracket), low)
        return _Zoom(bracket, low, z.iteration + 1, done, near & ~moved)

    bracket = Point(*(jnp.stack(pair) for pair in zip(other, search.new, strict=True)))
    zoomed = lax.while_loop(
        lambda z: ~z.done & (z.iteration < max_ls) & ~narrow(z),
        zoom,
        _Zoom(bracket, _lower(bracket), search.iteration, search.accepted, jnp.zeros((), bool)),
    )
    return _pick(zoomed.bracket, zoomed.low), zoomed.iteration + 1


def _cubic_interpolate(p1: Point, p2: Point, bounds: Any = None) -> Any:
    """Minimize the cubic through two points with their slopes, within the bounds."""
    x1, f1, g1, x2, f2, g2 = p1.t, p1.f, p1.gtd, p2.t, p2.f, p2.gtd
    lower, upper = (_min(x1, x2), _max(x1, x2)) if bounds is None else bounds
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    d2_square = d1 * d1 - g1 * g2
    d2 = jnp.sqrt(d2_square)
    ascending = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    descending = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    least = jnp.where(x1 <= x2, ascending, descending)
    return jnp.where(d2_square >= 0, _min(_max(least, lower), upper), (lower + upper) / 2)


def _lower(bracket: Point) -> Any:
    return jnp.where(bracket.f[0] <= bracket.f[1], np.int32(0), np.int32(1))


def _pick(bracket: Point, i: Any) -> Point:
    return Point(*(x[i] for x in bracket))


def _put(bracket: Point, i: Any, point: Point) -> Point:
    return Point(*(x.at[i].set(new) for x, new in zip(bracket, point, strict=True)))


def _where(condition: Any, a: Point, b: Point) -> Point:
    return Point(*(jnp.where(condition, x, y) for x, y in zip(a, b, strict=True)))


def _max(a: Any, b: Any) -> Any:
    """Mirror Python's `max`, which returns `a` unless `b > a`; torch relies on this for NaN."""
    return jnp.where(b > a, b, a)


def _min(a: Any, b: Any) -> Any:
    return jnp.where(b < a, b, a)

"""Draw the figure of docs/kinks.md: `python -m parity_tests.site.kink_figure`.

It shows the slope of `clamp` to [-1, 1] in JAX and in the newest torch that jaxgrad knows. The
slopes of torch are those of `jaxgrad.functional`, so that every supported torch draws one figure;
a test compares them with the torch that is installed.
"""

import pathlib
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from jaxgrad import functional
from jaxgrad._core.torch_versions import NEWEST


PATH = pathlib.Path(__file__).resolve().parents[2] / "docs" / "_static" / "clamp_slope.svg"
BOUND, END = 1.0, 2.0
INSIDE = 1e-3  # distance from a bound at which a segment ends
LEFT, BOTTOM, X_UNIT, Y_UNIT = 235, 195, 85, 125  # pixels: the origin, and the units of the axes
WIDTH = 440
STYLE = """\
text { font: 15px system-ui, sans-serif; fill: #1f2328 } .middle { text-anchor: middle }
.end { text-anchor: end }
path { fill: none; stroke: #57606a } .slope { stroke: #57606a; stroke-width: 3 }
.torch { fill: #b5401a; stroke: #b5401a } .jax { fill: #0b62c4; stroke: #0b62c4 }
text.torch, text.jax { stroke: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } path, .slope { stroke: #8b949e }
  .torch { fill: #f0855c; stroke: #f0855c } .jax { fill: #6cb6ff; stroke: #6cb6ff }
}"""


def slopes(at: Sequence[float], version: str = NEWEST) -> tuple[list[float], list[float]]:
    """Return the derivatives of the `clamp` of a version of torch and of `jnp.clip`."""
    functions = functional.at(version).clamp, jnp.clip
    of_torch, of_jax = (
        jax.vmap(jax.grad(lambda x, f=f: f(x, -BOUND, BOUND)))(jnp.array(at, jnp.float32)).tolist()
        for f in functions
    )
    return of_torch, of_jax


def figure() -> str:
    """Return the figure as SVG."""
    ends = [-END, -BOUND - INSIDE, -BOUND + INSIDE, BOUND - INSIDE, BOUND + INSIDE, END]
    at_ends, jax_at_ends = slopes(ends)
    assert at_ends == jax_at_ends, "the frameworks differ only at the bounds"
    points = [(_x(x), _y(y)) for x, y in zip(ends, at_ends, strict=True)]
    segments = [f"M{a[0]} {a[1]}L{b[0]} {b[1]}" for a, b in zip(*[iter(points)] * 2, strict=True)]
    in_torch, in_jax = slopes([-BOUND, BOUND])
    dots = [
        f'<circle class="{name}" cx="{_x(x)}" cy="{_y(y)}" r="6"/>'
        for name, ys in (("torch", in_torch), ("jax", in_jax))
        for x, y in zip((-BOUND, BOUND), ys, strict=True)
    ]
    ticks = [
        f'<text class="middle" x="{_x(x)}" y="{BOTTOM + 24}">{x:g}</text>'
        for x in (-END, -BOUND, 0, BOUND, END)
    ]
    ticks += [
        f'<text class="end" x="{_x(-END) - 12}" y="{_y(y) + 5}">{y:g}</text>'
        f'<path d="M{_x(-END) - 6} {_y(y)}h6"/>'
        for y in (0, 0.5, 1)
    ]
    labels = [
        _label("torch", f"torch: {in_torch[1]:g}", in_torch[1]),
        _label("jax", f"JAX: {in_jax[1]:g}", in_jax[1]),
    ]
    title = f"The slope of clamp to [-1, 1]: at a bound it is 0 in torch {NEWEST} and 0.5 in JAX"
    axes = f'<path d="M{_x(-END)} {_y(1) - 12}V{BOTTOM}H{_x(END)}"/>'
    both = f'<text class="middle" x="{_x(0)}" y="{_y(1) - 12}">grey: torch and JAX</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} 235" role="img">'
        f"<title>{title}</title><style>{STYLE}</style>"
        f'<text x="{_x(-END)}" y="24">slope of clamp(x, -1, 1)</text>'
        f'{axes}<path class="slope" d="{"".join(segments)}"/>{both}'
        f"{''.join([*dots, *ticks, *labels])}</svg>\n"
    )


def _label(name: str, text: str, y: float) -> str:
    """Return a label beside a dot, above the line that the slope or the axis draws there."""
    return f'<text class="{name}" x="{_x(BOUND) + 10}" y="{_y(y) - 9}">{text}</text>'


def _x(x: float) -> int:
    return round(LEFT + X_UNIT * x)


def _y(y: float) -> int:
    return round(BOTTOM - Y_UNIT * y)


if __name__ == "__main__":
    PATH.write_text(figure(), encoding="utf-8")

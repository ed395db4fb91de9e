"""Draw the four figures of docs/tape_or_transform.md: `python -m parity_tests.site.chain_figure`.

Each shows `(tanh(w * x))**2` at w = 2 and x = 0.5, with the numbers of a run.
"""

import functools
import html
import pathlib
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp


FOLDER = pathlib.Path(__file__).resolve().parents[2] / "docs" / "_static"
X, W = 0.5, 2.0
STEP = 262  # from a value to the next one
LEFT = 70  # of the first value
FUNS = (functools.partial(jnp.multiply, X), jnp.tanh, jnp.square)
NODES = ("MulBackward0", "TanhBackward0", "PowBackward0")
COTANGENTS = ("∂L/∂w", "∂L/∂a", "∂L/∂h", "∂L/∂L")
TANGENTS = ("∂w/∂w", "∂a/∂w", "∂h/∂w", "∂L/∂w")  # along the direction of w
STYLE = """\
text { font: 15px system-ui, sans-serif; fill: #1f2328; text-anchor: middle }
.op { fill: #eef1f5; stroke: #57606a } .down { fill: #fdeee7; stroke: #b5401a }
.kept { fill: #e7f3ea; stroke: #1a7f37 }
path { fill: none; stroke: #57606a; stroke-width: 1.5 } .head { fill: #57606a }
.back { stroke: #b5401a } .red { fill: #b5401a }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .op { fill: #21262d; stroke: #8b949e }
  .down { fill: #3a2119; stroke: #f0855c } .kept { fill: #14291b; stroke: #56d364 }
  path { stroke: #8b949e } .head { fill: #8b949e } .back { stroke: #f0855c } .red { fill: #f0855c }
}"""


def figures() -> dict[str, str]:
    """Return the figures by their file names."""
    values, tangents, cotangents = numbers()
    ops = ("× x", "tanh", "square")
    linear = tuple(f"× {t:.4g}" for t in _local())
    h = values[2]
    kept = (f"x = {X:.4g}", f"{1 - h:.4g}, {h:.4g}", f"2h = {_local()[2]:.4g}")
    forward = _lane(40, "forward", ("w", "a", "h", "L"), values, ops)
    return {
        "tape.svg": _svg(
            "The tape: three recorded nodes, values forward, gradients backward",
            [forward, _lane(130, "backward", COTANGENTS, cotangents, NODES)],
        ),
        "jvp.svg": _svg(
            "The JVP: each value travels with its tangent",
            [forward, _lane(130, "tangent", TANGENTS, tangents, linear)],
        ),
        "vjp.svg": _svg(
            "The VJP: the linear part runs backward",
            [
                _lane(40, "tangent", TANGENTS, tangents, linear),
                _lane(130, "backward", COTANGENTS, cotangents, linear),
            ],
        ),
        "residuals.svg": _svg(
            "Residuals: values that the forward pass keeps for the backward pass",
            [
                forward,
                _lane(210, "backward", COTANGENTS, cotangents, linear),
                *(_kept(column, text) for column, text in enumerate(kept)),
            ],
            height=250,
        ),
    }


def numbers() -> tuple[list[float], ...]:
    """Return the values, the tangents along w, and the cotangents of w, a, h and the loss."""

    def after(start: int, v: Any) -> Any:
        for fun in FUNS[start:]:
            v = fun(v)
        return v

    values: list[Any] = [jnp.float32(W)]
    for fun in FUNS:
        values.append(fun(values[-1]))
    tangents: list[Any] = [jnp.float32(1)]
    for local in _local():
        tangents.append(tangents[-1] * local)
    cotangents = [jax.grad(functools.partial(after, start))(v) for start, v in enumerate(values)]
    return tuple(list(map(float, row)) for row in (values, tangents, cotangents))


def _local() -> list[float]:
    """Return the derivative of each operation at its input."""
    h = float(jnp.tanh(jnp.float32(W * X)))
    return [X, 1 - h**2, 2 * h]


def _lane(
    y: int, kind: str, names: Sequence[str], values: Sequence[float], ops: Sequence[str]
) -> str:
    """Draw values and operations from left to right, with arrows in the direction of the pass."""
    parts = []
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        x = STEP * i + LEFT
        parts.append(_text(x, y + 5, f"{name} = {value:.3g}"))
        if i < len(ops):
            parts.append(_box("op" if kind == "forward" else "down", x + STEP // 2, y, ops[i]))
            parts.append(_arrow(x + 62, x + STEP - 62, y + 26, back=kind == "backward"))
    return "".join(parts)


def _box(name: str, x: int, y: int, text: str, round_by: int = 6) -> str:
    """Draw a box of a class of the style sheet, centred at a point."""
    shape = f'x="{x - 62}" y="{y - 15}" width="124" height="30" rx="{round_by}"'
    return f'<rect class="{name}" {shape}/>{_text(x, y + 5, text)}'


def _arrow(left: int, right: int, y: int, back: bool) -> str:
    line, head = ("back", "red") if back else ("forth", "head")
    end, base = (left, left + 7) if back else (right, right - 7)
    return (
        f'<path class="{line}" d="M{left} {y}H{right}"/>'
        f'<polygon class="{head}" points="{end},{y} {base},{y - 4} {base},{y + 4}"/>'
    )


def _kept(column: int, text: str) -> str:
    x = STEP * column + LEFT + STEP // 2
    return f'<path d="M{x} 70V108M{x} 138V195"/>' + _box("kept", x, 123, text, round_by=15)


def _text(x: int, y: int, text: str) -> str:
    return f'<text x="{x}" y="{y}">{html.escape(text)}</text>'


def _svg(title: str, parts: Sequence[str], height: int = 170) -> str:
    size = f"0 0 {3 * STEP + 2 * LEFT} {height}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" role="img">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style>{''.join(parts)}</svg>\n"
    )


if __name__ == "__main__":
    for name, svg in figures().items():
        (FOLDER / name).write_text(svg, encoding="utf-8")

"""The two programs of the stepper, under every setting of its switches.

Each line has a key. Lines of torch and JAX with one key belong to the same step.
"""

import itertools
import textwrap
from typing import NamedTuple


Setting = tuple[str, ...]  # the switches that are on, in the order of `SWITCHES`

STOPS = ("detach", "no_grad", "inference_mode")  # at most one of these is on
SWITCHES = (
    *STOPS,
    *("freeze_W1", "freeze_W2", "hook", "in_place", "retain_graph", "second_backward"),
)
LEAVES = {"x": "[[1., 2.]]", "W1": "[[1., 1.], [1., -1.]]", "W2": "[[1., -1.], [2., 1.]]"}


class Line(NamedTuple):
    """One line of a program."""

    key: str  # what it computes or does; a leaf is its own key
    text: str
    name: str = ""  # the variable that it assigns or is about
    within: str = ""  # the `with` statement or the function around it


class SteppedProgram(NamedTuple):
    """A program as lines, and the names of the weights that it differentiates."""

    lines: tuple[Line, ...]
    weights: tuple[str, ...]

    @property
    def script(self) -> str:
        """The program as a script without its imports."""
        parts = []
        for within, lines in itertools.groupby(self.lines, key=lambda line: line.within):
            block = "\n".join(line.text for line in lines)
            parts.append(f"{within}\n{textwrap.indent(block, '    ')}" if within else block)
        return "\n".join(parts) + "\n"


def settings() -> list[Setting]:
    """Return every setting of the switches."""
    others = [name for name in SWITCHES if name not in STOPS]
    chosen = itertools.product(((), *((stop,) for stop in STOPS)), *(((), (o,)) for o in others))
    return [tuple(itertools.chain(*names)) for names in chosen]


def torch_program(on: Setting) -> SteppedProgram:
    """Return torch's program under a setting."""
    weights = _weights(on)
    within = f"with torch.{on[0]}():" if {"no_grad", "inference_mode"} & set(on) else ""
    lines = [
        Line(
            name,
            f"{name} = torch.tensor({value}"
            + (", requires_grad=True)" if name in weights else ")"),
            name,
        )
        for name, value in LEAVES.items()
    ]
    lines += [
        Line("a", "a = x @ W1", "a", within),
        Line("h", "h = torch.relu(a)", "h", within),
        *([Line("stop", "h = h.detach()", "h")] if "detach" in on else []),
        *([Line("hook", "h.register_hook(lambda g: 0.5 * g)", "h")] if "hook" in on else []),
        Line("y", "y = h @ W2", "y"),
        *([Line("in_place", "h += 1", "h")] if "in_place" in on else []),
        Line("s", "s = y.pow(2)", "s"),
        Line("loss", "loss = s.sum()", "loss"),
        Line("1", f"loss.backward({'retain_graph=True' if 'retain_graph' in on else ''})"),
        *([Line("2", "loss.backward()")] if "second_backward" in on else []),
    ]
    return SteppedProgram(tuple(lines), weights)


def jax_program(on: Setting) -> SteppedProgram:
    """Return JAX's program under a setting: there is nothing to retain, and no array changes."""
    weights = _weights(on)
    arguments = ", ".join(weights)
    within = f"def f({arguments}):"
    lines = [Line(name, f"{name} = jnp.array({value})", name) for name, value in LEAVES.items()]
    lines += [
        Line("a", "a = x @ W1", "a", within),
        Line("h", "h = jax.nn.relu(a)", "h", within),
        *([Line("stop", "h = lax.stop_gradient(h)", "h", within)] if {*STOPS} & {*on} else []),
        *(
            [Line("hook", "h = jaxgrad.hook(h, lambda g: 0.5 * g)", "h", within)]
            if "hook" in on
            else []
        ),
        Line("y", "y = h @ W2", "y", within),
        *([Line("in_place", "h = h + 1", "h", within)] if "in_place" in on else []),
        Line("s", "s = y**2", "s", within),
        Line("loss", "return jnp.sum(s)", "loss", within),
        Line("start", f"loss, vjp = jax.vjp({', '.join(('f', *weights))})"),
        Line("1", "grads = vjp(1.0)"),
    ]
    if "second_backward" in on:
        again = "grads = jax.tree.map(jnp.add, grads, vjp(1.0))"
        lines.append(Line("2", again))
    return SteppedProgram((*lines, Line("del", "del vjp")), weights)


def _weights(on: Setting) -> tuple[str, ...]:
    return tuple(name for name in ("W1", "W2") if f"freeze_{name}" not in on)

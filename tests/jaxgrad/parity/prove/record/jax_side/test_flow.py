"""The data flow of a program is traced even if its layers run under `scan` and `checkpoint`."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from torch import Tensor, nn

from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove.record.jax_side import flow as flow_module
from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.record.jax_side.flow import Flow, leaf_key, leaf_of, place
from parity_tests.case import identity
from tests.jaxgrad.parity.prove._helpers import arrays, draw


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(4) + 0.5)
        self.query = nn.Linear(4, 4, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.scale
        return x + (self.query(y) @ y.mT).softmax(-1) @ y


def stacked(
    eps: float = 1e-5,
    stop_query: Callable[[Any], Any] = identity,
) -> tuple[Report, int]:
    torch.manual_seed(0)
    module = nn.Sequential(Block(), Block())
    state = arrays(module)
    p = {
        name: np.stack([state[f"{i}.{name}"] for i in (0, 1)]) for name in ("scale", "query.weight")
    }

    def norm(x: Any, scale: Any) -> Any:
        size = jnp.mean(x**2, -1, keepdims=True)
        return x * lax.rsqrt(size + eps) * scale

    @jax.checkpoint
    def block(x: Any, p: Any) -> Any:
        y = norm(x, p["scale"])
        query = y @ stop_query(p["query.weight"]).T
        scores = query @ y.swapaxes(1, 2)
        return x + jax.nn.softmax(scores) @ y, None

    def apply(p: Any, x: Any) -> Any:
        return lax.scan(block, x, p)[0]

    return prove(module, apply, p, (draw(2, 3, 4),)), norm.__code__.co_firstlineno


def test_the_line_of_a_bug_inside_a_scan_is_reported():
    """A wrong eps inside a scanned, checkpointed layer is reported with its source line."""
    right, _ = stacked()
    right.check()
    wrong, line = stacked(eps=1e-6)
    assert wrong.first is not None
    assert wrong.first.torch == "0"
    assert wrong.first.jax.startswith(f"test_flow.py:{line + 2} ")


def test_the_stop_gradient_of_a_weight_is_reported():
    """The stop_gradient of a weight is reported, but not the one inside softmax."""
    wrong, line = stacked(stop_query=lax.stop_gradient)
    assert wrong.first is not None
    assert (wrong.first.surface, wrong.first.torch) == ("structure", "0.query.weight")
    assert f"test_flow.py:{line + 7} (stop_gradient)" in wrong.first.cause


def flow_of(fun: Callable[..., Any], *inputs: Any) -> Flow:
    with jax.enable_x64(True):
        return Flow(jax_program.program(fun, {}, inputs))


def test_ancestors_include_the_leaves():
    """The ancestors of an output include only the leaves that it depends on."""
    flow = flow_of(lambda _, x, y: jnp.sin(x), np.ones(3), np.ones(3))
    ancestors = flow.back(flow.outputs[0], set())

    assert leaf_key(0) in ancestors and leaf_key(1) not in ancestors
    assert leaf_of(leaf_key(1)) == 1


def test_a_carry_depends_on_its_previous_iteration():
    """A carry depends on the initial values of all carries that it is computed from."""

    def body(carry: Any, _: Any) -> Any:
        a, b = carry
        return (jnp.sin(b), jnp.cos(a)), None

    flow = flow_of(lambda _, x, y: lax.scan(body, (x, y), None, length=2)[0][0], 1.0 * X, 2.0 * X)

    assert {leaf_key(0), leaf_key(1)} <= flow.back(flow.outputs[0], set())


def test_stops_between_values_are_listed_in_order():
    """All stop_gradients between a leaf and an output are listed in program order."""
    flow = flow_of(lambda _, x: lax.stop_gradient(jnp.sin(lax.stop_gradient(x))), X)
    stops = flow.between([leaf_key(0)], set(flow.outputs[0]), set(), "stop_gradient")

    assert len(stops) == 2 and flow.order[stops[0]] < flow.order[stops[1]]


def test_the_place_of_a_leaf_is_its_path():
    """A leaf is located by its path, and any other value by its source line."""
    flow = flow_of(lambda _, x: jnp.sin(x), X)

    assert place(flow.program, leaf_key(0)) == "0"
    assert place(flow.program, flow.outputs[0][0]).startswith("test_flow.py:")


X = np.ones(3)


def test_operands_are_recorded_for_equations_without_a_body():
    """The operands of `jit` are those of its body; those of a custom rule are its own, too."""
    flow = flow_of(lambda _, x: jax.jit(jnp.sin)(x) + jax.nn.relu(x), X)
    names = {flow.program.equations[path].primitive.name for path in flow.operands}

    assert {"sin", "add", "max", "custom_jvp_call"} <= names
    assert not names & {"jit", "pjit"}


def ancestors(fun: Callable[..., Any], output: int = 0) -> set[int | None]:
    """Return the indices of the leaves, of three, that an output depends on."""
    flow = flow_of(fun, *np.arange(3.0))
    return {leaf_of(key) for key in flow.back(flow.outputs[output], set())} - {None}


def test_the_index_of_a_cond_decides_its_output():
    """An output of `cond` depends on its index and on the operands of every branch."""

    def fun(_: Any, x: Any, y: Any, z: Any) -> Any:
        return lax.cond(x > 0, lambda: jnp.sin(y), lambda: y + 1), z

    assert ancestors(fun) == {0, 1}


def test_a_while_loop_is_entered_through_its_body():
    """An output of `while` depends on the carries that its body reads."""

    def fun(_: Any, x: Any, y: Any, z: Any) -> Any:
        def body(carry: Any) -> Any:
            i, a, b = carry
            return i + 1, a * y, b

        return lax.while_loop(lambda carry: carry[0] < 3, body, (0, x, z))[1:]

    assert ancestors(fun) == {0, 1} and ancestors(fun, 1) == {2}


def test_constants_and_scanned_values_are_fed_to_a_scan():
    """A stacked output depends on the constant, the carry and the scanned value it is made of."""

    def fun(_: Any, x: Any, y: Any, z: Any) -> Any:
        step = lambda c, s: (c + s, s * y)  # noqa: E731
        return lax.scan(step, x, jnp.stack([z, z]))

    assert ancestors(fun) == {0, 2} and ancestors(fun, 1) == {1, 2}


def test_a_search_ends_at_stops():
    """Ancestors leave the stops out, and descendants include the first ones."""
    flow = flow_of(lambda _, x: jnp.exp(jnp.cos(jnp.sin(x))), X)
    sin, cos, exp = sorted(flow.parents, key=lambda key: flow.order[key])

    assert flow.back([exp], {cos}) == {exp} and flow.back([cos], {cos}) == set()
    assert flow.ahead([leaf_key(0)], {cos}) == {sin, cos}
    assert flow.between([leaf_key(0)], {exp}, {cos}, "sin") == []
    assert flow.between([leaf_key(0)], {exp}, set(), "sin") == [sin]
    assert flow.between([leaf_key(0)], {exp}, set(), "exp") == [exp]
    assert [leaf_of(leaf_key(n)) for n in (0, 1)] == [0, 1] and leaf_of(sin) is None


class Made(NamedTuple):
    """Equations with made source lines: path -> its lines, innermost first, and its module."""

    equations: dict[Any, Any]
    param_paths: Any = ("w",)
    input_paths: Any = ("x",)


def made(monkeypatch: pytest.MonkeyPatch, rows: dict[Any, Any]) -> Any:
    """Return a program whose equations have these lines; None marks a line of an inlined body."""
    equations = {}
    for path, (lines, module) in rows.items():
        info = SimpleNamespace(name_stack=module)
        primitive = SimpleNamespace(name="add")
        equations[path] = SimpleNamespace(
            lines=[x for x in lines if x], own=None not in lines, source_info=info,
            primitive=primitive,
        )  # fmt: skip
    lines = SimpleNamespace(
        user_lines=lambda eqn: eqn.lines,
        user_line=lambda eqn: eqn.lines[0] if eqn.own and eqn.lines else "",
        body_line=lambda eqn: "body:1",
    )
    monkeypatch.setattr(flow_module, "source", lines)
    return Made(equations)


@pytest.mark.parametrize(
    ("first", "second", "ordered"),
    [
        ([], ["m:1"], True),
        (["m:3"], ["m:3"], True),
        (["m:3"], ["m:5"], True),
        (["m:5"], ["m:3"], False),
        (["m:3"], ["n:5"], False),
        (["f:9", "m:3"], ["f:2", "m:5"], True),
        (["f:9", "m:5"], ["f:2", "m:5"], False),
        (["f:2", "m:5"], ["m:5"], True),
    ],
)
def test_lines_are_ordered_by_their_outermost_difference(first, second, ordered):
    """Code runs in the order of its lines in one file, unless a caller decides."""
    assert flow_module._ordered(first, second) is ordered


@pytest.mark.parametrize("step", [-1, 1])
def test_a_neighbour_is_at_most_eleven_equations_away(monkeypatch, step):
    """The nearest equation with a line of its own is the neighbour."""
    near = made(monkeypatch, {(20 + step,): ([None], ""), (20 + 11 * step,): (["m:3", "m:1"], "")})
    assert flow_module._neighbour(near, (20,), step) == ["m:3", "m:1"]
    assert flow_module._neighbour(near, (20,), -step) == []
    far = made(monkeypatch, {(20 + 12 * step,): (["m:3"], "")})
    assert flow_module._neighbour(far, (20,), step) == []


@pytest.mark.parametrize(
    ("own", "before", "after", "line"),
    [
        (["m:7"], ["m:5"], ["m:9"], "m:7"),  # between the neighbours
        (["m:7"], ["m:8"], ["m:9"], "m:9"),
        (["m:7"], ["m:5"], ["m:6"], "m:6"),
        ([], ["m:5"], ["m:6"], "m:6"),
        (["h:2", "m:7"], ["m:7"], ["m:6"], "h:2"),  # the same caller as a neighbour
        (["h:2", "m:7"], ["m:8"], ["m:6"], "m:6"),
        (["h:2", "g:1", "m:7"], ["g:1", "m:7"], ["m:6"], "h:2"),
        (["h:2", "g:1", "m:7"], ["g:2", "m:7"], ["m:6"], "m:6"),
    ],
)
def test_an_inlined_equation_gets_its_own_or_the_nearest_line(
    monkeypatch, own, before, after, line
):
    """A recorded line counts only if it agrees with the equations around it."""
    rows = {(3,): (before, ""), (4,): ([*own, None], ""), (5,): (after, "")}
    found = flow_module._nearby_lines(made(monkeypatch, rows), (4,), "")
    assert found[0] == line and found[1:] == (own[1:] if line == next(iter(own), "") else [])


@pytest.mark.parametrize(
    ("modules", "stack", "line"),
    [
        (("enc", "dec"), "enc", "m:1"),
        (("enc", "dec"), "dec", "m:2"),
        (("enc", "enc"), "enc", "m:2"),  # the next one before the previous one
        (("", ""), "enc", ""),
        (("enc", "enc"), "", ""),
        (("", ""), "", "m:2"),
        (("enc", "dec"), "enc/fc", "m:1"),
    ],
)
def test_the_nearest_line_is_of_the_same_module(monkeypatch, modules, stack, line):
    """A neighbour of another module says nothing about an equation."""
    rows = {(3,): (["m:1"], modules[0]), (4,): ([], stack), (5,): (["m:2"], modules[1])}
    found = flow_module._nearby_lines(made(monkeypatch, rows), (4,), stack)
    assert found == ([line] if line else [])


@pytest.mark.parametrize(("offset", "line"), [(11, "m:2"), (-11, "m:2"), (12, ""), (-12, "")])
def test_the_nearest_line_is_at_most_eleven_equations_away(monkeypatch, offset, line):
    """A line further away is not of the same expression."""
    rows = {(20,): ([], ""), (20 + offset,): (["m:2"], "")}
    found = flow_module._nearby_lines(made(monkeypatch, rows), (20,), "")
    assert found == ([line] if line else [])


@pytest.mark.parametrize(
    ("own", "other", "text"),
    [
        (["h:1", "m:3"], ["h:1", "m:4"], ", called from m:3"),
        (["h:1", "m:3"], ["h:1", "m:3"], ""),
        (["h:1", "m:3"], ["h:2", "m:4"], ""),
        (["h:1", "m:3"], ["h:1"], ""),
        (["h:1"], ["h:1", "m:4"], ""),
        (["h:1", "g:1", "m:3"], ["h:1", "g:1", "m:4"], ", called from m:3"),
    ],
)
def test_the_caller_is_named_where_callers_differ(monkeypatch, own, other, text):
    """The innermost line that differs between the calls of a helper is named."""
    program = made(monkeypatch, {(0,): (own, ""), (1,): (other, "")})
    assert flow_module._caller(program, own) == text


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ({(2,): (["m:5"], "net"), (2, 0, 1): (["m:7"], "fc")}, "m:7 (net/fc)"),
        ({(2,): (["m:5"], ""), (2, 0, 1): (["m:7"], "")}, "m:7 (add)"),
        ({(2,): (["m:5"], ""), (2, 0, 1): ([None], "fc")}, "m:5 (fc)"),
        ({(2,): ([None], ""), (2, 0, 1): ([None], ""), (3,): (["m:9"], "")}, "m:9 (add)"),
        ({(2,): (["m:5"], ""), (2, 0, 1): ([None], ""), (2, 0, 2): (["m:8"], "")}, "m:8 (add)"),
        ({(2,): ([None], ""), (2, 0, 1): ([None], "")}, "body:1 (add)"),
        (
            {(2,): (["h:1", "m:5"], ""), (2, 0, 1): ([None], ""), (3,): (["h:1", "m:6"], "")},
            "h:1, called from m:5 (add)",
        ),  # `jnp.where` in a helper
        (
            {
                (2,): (["m:4"], ""),
                (2, 0, 1): (["h:1", "m:5", None], ""),
                (2, 0, 2): (["h:1", "m:6"], ""),
            },
            "h:1, called from m:5 (add)",
        ),  # `@` in a helper
    ],
)
def test_the_innermost_known_line_is_the_place(monkeypatch, rows, text):
    """A place has the innermost line, its module path, or else the primitive's name."""
    assert place(made(monkeypatch, rows), ((2, 0, 1), 0)) == text


def test_the_place_of_an_input_follows_the_params(monkeypatch):
    """Leaves are counted over params, then inputs."""
    program = made(monkeypatch, {})
    assert [place(program, leaf_key(n)) for n in (0, 1)] == ["w", "x"]

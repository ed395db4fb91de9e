"""Tests of the cases' pictures: they differ where torch's graphs differ, and JAX's agree."""

import collections
import dataclasses
import re
import xml.etree.ElementTree as ET

import jax
import jax.numpy as jnp
import pytest
from jax.extend.core import Var

from jaxgrad._core import compat
from jaxgrad.graph import ABSENT, REACHED, RECORDED, Setting, backward_graph, side_by_side
from jaxgrad.graph._collect import _flatten
from jaxgrad.graph._panels import fit
from parity_tests.case import CaseError, load
from parity_tests.pictures import draw_case as pictures
from tests.jaxgrad.graph.programs import drawn, grads, texts
from tests.jaxgrad.graph.reading import overlaps


CASES = load()


@pytest.mark.slow
def test_pictures_of_the_ways_to_stop_l1_differ_where_torch_differs():
    """Ways to stop l1 (rows S0-01 to S0-07) whose torch graphs differ have different pictures."""
    ids = {
        "S0-01": "grad_modes/nothing_stopped",
        "S0-02": "grad_modes/detach",
        "S0-03": "grad_modes/no_grad",
        "S0-04": "grad_modes/no_grad_part",
        "S0-05": "grad_modes/inference_mode",
        "S0-06": "grad_modes/inference_clone",
        "S0-07": "freezing/optimizer_subset",
    }
    graphs, seen = {}, {}
    for row, name in ids.items():
        assert row in CASES[name].source
        settings = pictures.settings(CASES[name])
        graphs[row] = [
            (
                [(op.name, op.state, tuple(e.cut for e in op.edges)) for op in s.torch.ops],
                bool(s.torch.failure),
            )
            for s in settings.values()
            if s.torch is not None
        ]
        bare = {f"row {i}": Setting(s.torch, s.jax) for i, s in enumerate(settings.values())}
        seen[row] = re.sub(r"\d\.\d+(e-\d+)?", "", " ".join(texts(side_by_side(bare, title="-"))))
        seen[row] += re.sub(r'id="[^"]*"', "", drawn(side_by_side(bare, title="-")))
    for a in ids:
        for b in ids:
            if graphs[a] != graphs[b]:
                assert seen[a] != seen[b], f"torch differs between {a} and {b}, the pictures do not"
    assert graphs["S0-02"] != graphs["S0-03"] and graphs["S0-03"] != graphs["S0-06"]


@pytest.mark.slow
def test_deep_copies_have_names_of_their_own():
    """Networks held by an object of the program are named after its attributes."""
    stopped = pictures.settings(CASES["actor_critic/critic_loss"])["open"].torch
    assert stopped is not None
    networks = {leaf.name.split(".")[0] for leaf in stopped.leaves}
    assert networks == {"actor", "critic", "target_actor", "target_critic"}


@pytest.mark.parametrize("name", ["grad_modes/detach", "grad_modes/no_grad"])
def test_taking_the_tool_out_changes_the_picture(name):
    """Without the case's `stop_gradient`, the picture no longer shows a cut."""
    case = CASES[name]
    without = dataclasses.replace(case, fun=case.without_tool())
    (left,), (right,) = (
        [s.jax for s in pictures.settings(c).values() if s.jax is not None] for c in (case, without)
    )

    assert "stop_gradient" in side_by_side({"": left})
    assert "stop_gradient" not in side_by_side({"": right})
    assert drawn(side_by_side({"": left})) != drawn(side_by_side({"": right}))


def test_the_picture_of_the_five_ways():
    """In both frameworks, each way to stop l1 (row S0-17) leaves it in the documented state."""
    rows = pictures.settings(CASES["grad_modes/recorded"])
    assert list(rows) == ["nothing", "detach", "no_grad", "inference_mode", "optimizer", "manual"]
    l1 = {
        name: {op.state for op in row.torch.ops if op.scope == ("l1",)}
        for name, row in rows.items()
        if row.torch is not None
    }
    assert l1 == {
        "nothing": {REACHED},
        "detach": {RECORDED},
        "no_grad": {ABSENT},
        "inference_mode": {ABSENT},
        "optimizer": {REACHED},
        "manual": {REACHED},
    }
    for name, row in rows.items():
        assert row.torch is not None and row.jax is not None and row.verdict.startswith("✓")
        left, right = grads(row.torch), grads(row.jax)
        assert left.keys() == right.keys()
        for leaf, norm in left.items():
            assert (
                (norm is None)
                == (right[leaf] is None)
                == (leaf.startswith("l1") and name in ("detach", "no_grad", "inference_mode"))
            )
    manual, optimizer = rows["manual"].torch, rows["optimizer"].torch
    assert manual is not None and manual.leaf("l1.bias").kind == "zero"
    assert optimizer is not None and optimizer.leaf("l1.bias").note == "computed, not applied"


@pytest.mark.sampled(13)
@pytest.mark.parametrize("name", [n for n, c in CASES.items() if c.picture and not c.heavy])
def test_every_case_that_promises_a_picture_has_a_true_one(name, monkeypatch):
    """The picture is valid, its boxes are the equations of `jax.vjp`, its labels are legible."""
    wanted = []

    def watched(fun, *args, argnums=0, has_aux=False, **options):
        graph = backward_graph(fun, *args, argnums=argnums, has_aux=has_aux, **options)
        wanted.append((graph, fun, args, argnums, has_aux))
        return graph

    monkeypatch.setattr(pictures, "backward_graph", watched)
    rows = pictures.settings(CASES[name])
    svg = side_by_side(rows, title=name)

    assert ET.fromstring(svg) is not None
    assert not [row.verdict for row in rows.values() if "✗ differs" in row.verdict]
    assert overlaps(svg) == []
    todo = {sizes(row.jax) for row in rows.values() if row.jax is not None}
    for graph, *call in wanted:
        if sizes(graph) in todo:
            todo.remove(sizes(graph))
            assert drawn_equations(graph) == vjp_equations(*call)
    assert not todo, "a drawn graph was not compared"
    for row in rows.values():
        for graph in filter(None, (row.torch, row.jax)):
            losses = lane_of_loss(graph)
            assert losses in ({"loss"}, set()) or "loss" not in losses
        assert has_hook(row.torch) == has_hook(row.jax)


def sizes(graph):
    """Return a key that identifies a JAX graph, whatever its leaves are called."""
    return tuple((each.names, each.state, len(each.edges)) for each in graph.equations)


def drawn_equations(graph):
    """Count the equations in the tooltips of a JAX graph's picture."""
    ((view,),) = ([*panel.views.values()] for panel in fit([{"": graph}]).panels)
    lines = [line.split(";")[0] for inside in view.inside.values() for line in inside]
    lines = [line for line in lines if ", in the VJP" in line]
    counts = collections.Counter()
    for line in lines:
        head, _, steps = line.partition(": ")
        for step in steps.split(", ") if steps else [head.split(", in the VJP")[0]]:
            equation, _, times = step.partition(" ×")
            counts[equation] += int(times or 1)
    return counts


def vjp_equations(fun, args, argnums, has_aux):
    """Count the equations of `jax.vjp`'s jaxpr that depend on the loss's cotangent."""
    flat = _flatten(fun, args, argnums, has_aux)
    loss, pull = jax.vjp(lambda *active: flat.fun(active, flat.fixed), *flat.active)
    jaxpr = jax.make_jaxpr(pull)(jnp.ones_like(loss)).jaxpr
    counts = collections.Counter()

    def visit(jaxpr, reached):
        for eqn in jaxpr.eqns:
            live = [isinstance(v, Var) and v in reached for v in eqn.invars]
            if eqn.primitive.name in compat.JIT:
                inside = compat.open_jaxpr(eqn.params["jaxpr"])[0]
                inner = {v for v, is_live in zip(inside.invars, live, strict=True) if is_live}
                visit(inside, inner)
                outs = zip(eqn.outvars, inside.outvars, strict=True)
                reached |= {v for v, out in outs if isinstance(out, Var) and out in inner}
            elif any(live):
                counts[eqn.primitive.name] += 1
                reached |= set(eqn.outvars)

    visit(jaxpr, set(jaxpr.invars))
    return counts


def lane_of_loss(graph):
    """Return the lanes of the operations that nothing on the path of the loss reads."""
    (panel,) = fit([{"": graph}]).panels
    (view,) = panel.views.values()
    read = {target for _, target in view.flows}
    ends = [key for key, state in view.states.items() if state == REACHED and key not in read]
    return {panel.diagram.lanes[panel.diagram.boxes[key].lane] for key in ends}


def has_hook(graph):
    return graph is not None and any(op.folded.startswith("hook") for op in graph.ops)


def test_rows_are_of_cases_that_exist():
    """Every entry of the row titles names an existing case and all of its settings."""
    for name, rows in pictures.ROWS.items():
        assert name in CASES
        assert list(pictures.settings(CASES[name])) == list(rows)


@pytest.mark.parametrize(
    ("name", "why"),
    {
        "graph/saved_tensors": "its torch program",
        "checkpointing/checkpoint": "a graph does not show the bytes that a program saves",
        "backward/retain_grad": "a graph does not show the gradients that retain_grad keeps",
        "backward/grad_of_intermediate": "its 2 backward passes have no names",
    }.items(),
)
def test_a_case_without_a_picture_says_why(name, why):
    """Asking for the picture of a case that has none raises an error with the reason."""
    with pytest.raises(CaseError, match=f"{name} has no picture: {why}"):
        pictures.picture(CASES[name])

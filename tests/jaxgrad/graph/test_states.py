"""A diagram shows the states of lanes, cuts and gradients in each setting."""

import jax.numpy as jnp

from jaxgrad.graph import backward_graph, side_by_side
from parity_tests.case import load
from parity_tests.pictures import draw_case as pictures
from tests.jaxgrad.graph.programs import described, texts


CASES = load()


def test_a_nan_is_shown():
    """A gradient whose norm is NaN is labelled `nan`."""
    graph = backward_graph(lambda w: jnp.sum(jnp.sqrt(w) * 0), jnp.zeros(2))
    assert "∇w nan" in texts(side_by_side({"": graph}))


def test_the_drawn_states_of_torch_differ_where_its_states_do():
    """Five of the cases S0-01 to S0-06 cut `l1` differently, and each has its own description."""
    names = "nothing_stopped detach no_grad inference_mode inference_clone".split()
    rows = {name: pictures.settings(CASES[f"grad_modes/{name}"]) for name in names}
    torch_side = described({n: s.torch for n, row in rows.items() for s in row.values() if s.torch})
    jax_side = described({n: s.jax for n, row in rows.items() for s in row.values() if s.jax})

    assert "l1 is on the path of the loss" in torch_side["nothing_stopped"]
    assert "l1 recorded, not reached" in torch_side["detach"]
    for name, cut in {"no_grad": "no_grad", "inference_clone": "inference_mode"}.items():
        assert "l1 not recorded" in torch_side[name]
        assert f"gradient stopped by {cut}" in torch_side[name]
    assert "l2 raises" in torch_side["inference_mode"]
    assert len(set(torch_side.values())) == len(names)
    for name in names[1:]:
        assert "l1 not in the VJP" in jax_side[name]
        assert "gradient stopped by stop_gradient" in jax_side[name]


def test_partial_no_grad_and_partial_optimizers():
    """Submodules cut in case S0-04, and gradients that no optimizer applies in S0-07, are shown."""
    rows = pictures.settings(CASES["grad_modes/no_grad_part"])
    said = described({name: row.torch for name, row in rows.items() if row.torch})
    assert len(set(said.values())) == 4 and "does not require grad" in said["both_inside"]
    (first, *_) = pictures.settings(CASES["freezing/optimizer_subset"]).values()
    for graph in (first.torch, first.jax):
        assert graph is not None and "l1 computed, not applied" in described({"": graph})[""]


def test_a_partitioned_parameter_has_no_slot():
    """In case S2-11, a partitioned-off parameter is still drawn, with the label `no slot`."""
    rows = pictures.settings(CASES["grad_modes/requires_grad"])
    frozen = next(iter(rows.values())).jax
    assert frozen is not None and not frozen.leaf("l1.weight").slot
    words = texts(side_by_side(rows))
    assert "∇weight no slot" in words and "no slot: not an argument of the derivative" in words

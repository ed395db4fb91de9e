"""Draw a case's picture: the backward graphs recorded from its torch and JAX programs.

The torch reference runs under a recorder of autograd graphs. The JAX program runs while its calls
of `jax.grad` and `jax.vjp` are recorded, and each differentiated function is converted to a graph.
Only the captions of a picture are written by hand, in `row_titles`.
"""

import contextlib
import functools
import re
import types
from typing import Any
from unittest import mock

import jax
import numpy as np

from jaxgrad.graph import Graph, Setting, backward_graph, side_by_side
from jaxgrad.parity import interop
from jaxgrad.parity.compare import compare, flatten
from parity_tests.audits.derivative_recorder import Call, derivatives_watched, leaf_names
from parity_tests.case import Case, CaseError
from parity_tests.inputs import draw
from parity_tests.pictures.pairing import GraphPair, pairs, same_leaves
from parity_tests.pictures.row_titles import ROWS, RowTitle
from parity_tests.runner.torch_side import run_reference, split


SAME = "✓ the same gradients"
PAGE = 816.0  # pixels of a page of the docs, and of GitHub
PHONE = 344.0  # pixels of the report page on a phone
MOST = 6  # rows; a longer picture (of a training loop) keeps only its first and last row


def picture(case: Case, seed: int = 0, width: float = PAGE, *, claim: bool = True) -> str:
    """Draw the backward graphs of a case in torch and in JAX, side by side.

    Args:
        case: A case from `parity_tests.case.load()`.
        seed: The seed of its inputs.
        width: The largest width in pixels; 400 suits a phone.
        claim: Whether the title has the claim; without it if the page shows the claim itself.

    Returns:
        The text of an SVG.

    Raises:
        CaseError: One program differentiates nothing that can be drawn, the graphs of the two
            programs cannot be paired, the case is about bytes or retained gradients, which no
            graph shows, or a row, a lane or a parameter would have no name of the program.
    """
    words = " ".join(case.claim.replace("`", "").split()) if claim else "the backward graphs"
    return side_by_side(settings(case, seed), title=f"{case.id}: {words}", width=width)


def pictures(case: Case, seed: int = 0) -> tuple[str, str]:
    """Draw a case from one run for a page and for a phone, without the claim in the title.

    Raises:
        CaseError: The case has no picture; see `picture`.
    """
    rows, title = settings(case, seed), f"{case.id}: the backward graphs"
    wide, narrow = (side_by_side(rows, title=title, width=width) for width in (PAGE, PHONE))
    return wide, narrow


def settings(case: Case, seed: int = 0) -> dict[str, Setting]:
    """Return the rows of a case's picture, keyed by name."""
    inputs = draw(case.inputs, case.seed_name, seed)
    torch_observation, torch_graphs, retains = _torch(case, inputs)
    about_bytes = isinstance(torch_observation, dict) and "bytes" in torch_observation.get(
        "shown", {}
    )
    if retains or about_bytes:
        what = "gradients that retain_grad keeps" if retains else "bytes that a program saves"
        raise CaseError(f"{case.id} has no picture: a graph does not show the {what}")
    jax_observation, jax_graphs = _jax(case, inputs, len(torch_graphs))
    both = pairs(torch_graphs, jax_graphs)
    if both is None:
        raise CaseError(
            f"{case.id} has no picture: its torch program calls backward {len(torch_graphs)} "
            f"times, its JAX program differentiates {len(jax_graphs)} functions that can be drawn, "
            "and the graphs cannot be paired; cases with picture=True can be drawn"
        )
    names = _row_names(case, torch_observation, len(both))
    _check_names(case, names, both)
    verdict = _verdict(case, torch_observation, jax_observation)
    rows = {}
    for i, (name, pair) in enumerate(zip(names, both, strict=True)):
        untitled = RowTitle("", "", "")  # one idiom cannot caption several rows
        text = ROWS.get(case.id, {}).get(
            name, untitled if len(names) > 1 else RowTitle(*case.idiom, "")
        )
        torch, jax_ = (
            _as_used(graph, _observed(observation, name, i, len(names)), inputs)
            for graph, observation in zip(pair, (torch_observation, jax_observation), strict=True)
        )
        raised = [graph.framework for graph in (torch, jax_) if graph.failure]
        sign = f"{raised[0]} raises" if raised else verdict
        if case.deviation and not raised and same_leaves(torch, jax_):
            sign = SAME  # the deviation concerns another row, or something other than gradients
        rows[name] = Setting(torch, jax_, (text.torch, text.jax), text.note, sign)
    if len(rows) > MOST:
        rows = {name: rows[name] for name in (names[0], names[-1])}
    return rows


def _verdict(case: Case, torch_observation: Any, jax_observation: Any) -> str:
    torch_value, jax_value = split(torch_observation)[0], split(jax_observation)[0]
    tolerance = case.tolerance_in("float64")
    judged = compare(
        torch_value, jax_value, oracle=torch_value, tolerance=tolerance, zeros=case.zeros
    )
    same = {"bitwise": "✓ bit-identical", "close": SAME}
    differs = "differs by design" if case.deviation else "✗ differs"
    return same.get(judged.verdict, differs)


def _torch(case: Case, inputs: Any) -> tuple[Any, list[Graph], bool]:
    """Run the reference; return its observation, its graphs and whether it calls `retain_grad`."""
    import torch

    from jaxgrad.parity.torch_graph import record

    graphs: list[Graph] = []
    original = torch.Tensor.retain_grad

    def recorded(**inputs: Any) -> Any:
        observation: list[Any] = []

        @functools.wraps(case.reference)
        def program(**inputs: Any) -> None:
            observation.append(case.reference(**inputs))

        graphs.extend(record(program, **inputs))
        return observation[0] if observation else None

    watched: Any = types.SimpleNamespace(reference=recorded)
    with mock.patch.object(torch.Tensor, "retain_grad", autospec=True) as retain:
        retain.side_effect = original
        return run_reference(watched, inputs, "float64"), graphs, retain.called


def _jax(case: Case, inputs: Any, wanted: int) -> tuple[Any, list[Graph]]:
    """Run the JAX program, and return its observation and a graph per differentiated function."""
    calls: list[Call] = []
    try:
        with derivatives_watched(calls):
            observation = case.fun(**interop.to_jax(inputs))
    except Exception as error:  # an exception is a valid observation
        observation = error
    if len(calls) < wanted:  # a scan hides its steps, so rerun it as a Python loop
        calls.clear()
        with derivatives_watched(calls), jax.disable_jit():
            observation = case.fun(**interop.to_jax(inputs))
    known: dict[int, tuple[str, Any]] = {}
    for call in calls:
        known |= leaf_names(call)
    constants = list(known.values())
    graphs = []
    for fun, args, options in calls:
        # A function that captures tracers (inside vmap, say) cannot be traced again.
        with contextlib.suppress(jax.errors.UnexpectedTracerError):
            graphs.append(backward_graph(fun, *args, constants=constants, **options))
    return interop.to_numpy(observation), graphs


def _row_names(case: Case, observation: Any, count: int) -> list[str]:
    """Name the rows after the observation's keys if there is one key per graph."""
    if count == 1:
        return [case.behaviour]
    if case.id in ROWS and len(ROWS[case.id]) == count:
        return list(ROWS[case.id])
    if isinstance(observation, dict):
        own = [key for key, value in observation.items() if isinstance(value, dict)]
        own = [key for key in own if "grads" in observation[key]]
        for keys in (list(observation), own):
            if len(keys) == count:
                return keys
    return [f"step {i + 1}" for i in range(count)] if _counts(observation, count) else []


def _counts(observation: Any, count: int) -> bool:
    """Return whether an observation has a result for each of `count` steps of a loop."""
    values = observation.values() if isinstance(observation, dict) else ()
    return any(isinstance(v, list | np.ndarray) and np.shape(v)[:1] == (count,) for v in values)


def _check_names(case: Case, names: list[str], both: list[GraphPair]) -> None:
    """Raise if a row, a lane or a parameter of the picture has no name in the program."""
    if len(names) != len(both):
        raise CaseError(
            f"{case.id} has no picture: its {len(both)} backward passes have no names; name them "
            "in parity_tests/pictures/row_titles.py"
        )
    leaves = {leaf.name for pair in both for graph in pair for leaf in graph.leaves}
    modules = {part for pair in both for graph in pair for op in graph.ops for part in op.scope}
    unnamed = sorted(name for name in leaves if re.fullmatch(r"leaf\d+", name))
    unnamed += sorted(name for name in modules if re.search(r" \(\d+\)$", name))
    if unnamed:
        raise CaseError(f"{case.id} has no picture: {unnamed[0]!r} is not a name in its program")


def _observed(observation: Any, name: str, i: int, count: int) -> dict[str, Any]:
    """Return one row's part of the observation: its gradients and new parameters."""
    if not isinstance(observation, dict):
        return {}
    row = observation.get(name, observation)
    row = row if isinstance(row, dict) else {}
    grads = row.get("grads")
    if isinstance(grads, list) and len(grads) == count:
        row = row | {"grads": grads[i]}
    return row if isinstance(row.get("grads"), dict) else {}


def _as_used(graph: Graph, row: dict[str, Any], inputs: Any) -> Graph:
    """Mark gradients that were accumulated, zeroed or not applied after the backward pass."""
    grads, params, before = (
        {path.replace("/", "."): leaf for path, leaf in flatten(tree).items()}
        for tree in (row.get("grads", {}), row.get("params", {}), inputs.get("net", {}))
    )
    arrays = (np.ndarray, np.generic, type(None))
    norms = {
        key: None if g is None else float(np.linalg.norm(np.ravel(g)))
        for key, g in grads.items()
        if isinstance(g, arrays)
    }
    kept = [
        key for key in params.keys() & before.keys() if np.array_equal(params[key], before[key])
    ]
    notes = {key: "computed, not applied" for key in kept if norms.get(key)}
    return graph.with_leaves(norms, notes)

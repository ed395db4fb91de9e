"""The picture of a case: the backward graphs of its reference and of its twin, as they run.

Nothing is drawn from a description. The torch reference runs under a recorder; the twin runs with
JAX's derivatives watched, and each function that it differentiates is read as a graph. What is
written down here is only what the rows of a picture say.
"""

import contextlib
import functools
import types
from typing import Any

import jax
import numpy as np

from jaxgrad.graph import Graph, Setting, backward_graph, side_by_side
from jaxgrad.parity import interop
from jaxgrad.parity.compare import compare, flatten
from parity_tests.audits.derivative_recorder import Call, derivatives_watched, leaf_names
from parity_tests.case import Case, CaseError
from parity_tests.inputs import draw
from parity_tests.pictures.pairing import pairs, same_leaves
from parity_tests.pictures.row_titles import ROWS, Row
from parity_tests.runner.torch_side import run_reference, split


SAME = "✓ the same gradients"
MOST = 6  # rows; of a training loop the first and the last


def picture(case: Case, seed: int = 0) -> str:
    """The backward graphs of a case in torch and in JAX, side by side.

    Args:
      case: From `parity_tests.case.load()`.
      seed: Of its inputs.

    Returns:
      The text of an SVG.

    Raises:
      CaseError: The case has no picture: one side differentiates nothing that could be drawn, or
        the two do not differentiate equally often.
    """
    claim = " ".join(case.claim.replace("`", "").split())
    return side_by_side(settings(case, seed), title=f"{case.id}: {claim}")


def settings(case: Case, seed: int = 0) -> dict[str, Setting]:
    """The rows of a case's picture, by name."""
    inputs = draw(case.inputs, case.id, seed)
    torch_seen, torch_graphs = _torch(case, inputs)
    jax_seen, jax_graphs = _jax(case, inputs, len(torch_graphs))
    both = pairs(torch_graphs, jax_graphs)
    if both is None:
        raise CaseError(
            f"{case.id} has no picture: its reference calls backward {len(torch_graphs)} times, "
            f"its twin differentiates {len(jax_graphs)} functions at numbers, and the two cannot "
            "be put side by side; those made for it have picture=True"
        )
    names = _row_names(case, torch_seen, len(both))
    verdict = _verdict(case, torch_seen, jax_seen)
    found = {}
    for i, (name, pair) in enumerate(zip(names, both, strict=True)):
        several = Row("", "", "")  # one idiom does not say what each row does
        text = ROWS.get(case.id, {}).get(name, several if len(names) > 1 else Row(*case.idiom, ""))
        torch, jax_ = (
            _as_used(graph, _observed(seen, name, i, len(names)), inputs)
            for graph, seen in zip(pair, (torch_seen, jax_seen), strict=True)
        )
        raised = [graph.framework for graph in (torch, jax_) if graph.failure]
        sign = f"{raised[0]} raises" if raised else verdict
        if case.deviation and not raised and same_leaves(torch, jax_):
            sign = SAME  # what is pinned is about something else, or about another row
        found[name] = Setting(torch, jax_, (text.torch, text.jax), text.note, sign)
    if len(found) > MOST:
        found = {name: found[name] for name in (names[0], names[-1])}
    return found


def _verdict(case: Case, torch_seen: Any, jax_seen: Any) -> str:
    theirs, ours = split(torch_seen)[0], split(jax_seen)[0]
    judged = compare(theirs, ours, oracle=theirs, tolerance=case.tolerance, zeros=case.zeros)
    same = {"bitwise": "✓ the same, to the bit", "close": SAME}
    differs = "differs by design" if case.deviation else "✗ differs"
    return same.get(judged.verdict, differs)


def _torch(case: Case, inputs: Any) -> tuple[Any, list[Graph]]:
    """The reference under the recorder: its observation, and its graphs."""
    from jaxgrad.parity.torch_graph import record

    graphs: list[Graph] = []

    def recorded(**inputs: Any) -> Any:
        seen: list[Any] = []

        @functools.wraps(case.reference)
        def program(**inputs: Any) -> None:
            seen.append(case.reference(**inputs))

        graphs.extend(record(program, **inputs))
        return seen[0] if seen else None

    watched: Any = types.SimpleNamespace(reference=recorded)
    return run_reference(watched, inputs, "float64"), graphs


def _jax(case: Case, inputs: Any, wanted: int) -> tuple[Any, list[Graph]]:
    """The twin with its derivatives watched: its observation, and its graphs."""
    calls: list[Call] = []
    try:
        with derivatives_watched(calls):
            seen = case.fun(**interop.to_jax(inputs))
    except Exception as error:  # an exception is an observation too
        seen = error
    if len(calls) < wanted:  # a scan over steps: once more, as a loop in which each is seen
        calls.clear()
        with derivatives_watched(calls), jax.disable_jit():
            seen = case.fun(**interop.to_jax(inputs))
    known: dict[int, tuple[str, Any]] = {}
    for call in calls:
        known |= leaf_names(call)
    constants = list(known.values())
    graphs = []
    for fun, args, options in calls:
        # of a function that closes over tracers (it is mapped) nothing can be read
        with contextlib.suppress(jax.errors.UnexpectedTracerError):
            graphs.append(backward_graph(fun, *args, constants=constants, **options))
    return interop.to_numpy(seen), graphs


def _row_names(case: Case, seen: Any, count: int) -> list[str]:
    """The observation's own names where it has one for each graph."""
    if count == 1:
        return [case.behaviour]
    if case.id in ROWS and len(ROWS[case.id]) == count:
        return list(ROWS[case.id])
    if isinstance(seen, dict) and len(seen) == count:
        return list(seen)
    return [f"step {i + 1}" for i in range(count)]


def _observed(seen: Any, name: str, i: int, count: int) -> dict[str, Any]:
    """What the observation says of one row: its gradients, and the parameters after it."""
    if not isinstance(seen, dict):
        return {}
    row = seen.get(name, seen)
    row = row if isinstance(row, dict) else {}
    grads = row.get("grads")
    if isinstance(grads, list) and len(grads) == count:
        row = row | {"grads": grads[i]}
    return row if isinstance(row.get("grads"), dict) else {}


def _as_used(graph: Graph, row: dict[str, Any], inputs: Any) -> Graph:
    """The gradients as they were used: added up, set to zero, not applied, after backward."""
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

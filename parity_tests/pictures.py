"""The picture of a case: the backward graphs of its reference and of its twin, as they run.

Nothing is drawn from a description. The torch reference runs under a recorder; the twin runs with
JAX's derivatives watched, and each function that it differentiates is read as a graph. What is
written down here is only what the rows of a picture say.
"""

import contextlib
import functools
import types
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxgrad.graph import Graph, Setting, backward_graph, side_by_side
from jaxgrad.parity import interop
from jaxgrad.parity.compare import compare, flatten
from parity_tests.case import Case, CaseError
from parity_tests.draw import draw
from parity_tests.watched import Call, derivatives_watched, leaf_names
from parity_tests.witness import run_reference, split


SAME = "✓ the same gradients"
MOST = 6  # rows; of a training loop the first and the last


class Row(NamedTuple):
    """What the row of a setting says: what a user writes in torch and in JAX, and why."""

    torch: str
    jax: str
    note: str


ROWS: dict[str, dict[str, Row]] = {
    "grad_modes/recorded": {
        "nothing": Row(
            "h = l1(x); out = l2(h)",
            "h = linear(net['l1'], x); out = linear(net['l2'], h)",
            "the plain step",
        ),
        "detach": Row(
            "out = l2(h.detach())",
            "out = linear(net['l2'], lax.stop_gradient(h))",
            "torch records L1 all the same; the loss does not reach it",
        ),
        "no_grad": Row(
            "with torch.no_grad(): h = l1(x)",
            "h = jaxgrad.no_grad(linear)(net['l1'], x)",
            "torch never records L1; in JAX it is the program of detach",
        ),
        "inference_mode": Row(
            "with torch.inference_mode(): h = l1(x)  # then l2(h.clone())",
            "h = jaxgrad.no_grad(linear)(net['l1'], x)",
            "as no_grad; only a clone may enter a graph",
        ),
        "optimizer": Row(
            "SGD(l2.parameters(), lr=0.1).step()",
            "net | {'l2': sgd(net['l2'], grads['l2'])}",
            "L1's gradient is computed, and not applied",
        ),
        "manual": Row(
            "l1.zero_grad(set_to_none=False)",
            "grads | {'l1': tree.map(zeros_like, grads['l1'])}",
            "L1's gradient is computed, then set to zero",
        ),
    },
    "freezing/single_headed": {
        "both_open": Row("out = a(h) + b(h)", "out = a(h) + b(h)", "two ways into the trunk"),
        "a_stopped": Row("a(h.detach()) + b(h)", "a(lax.stop_gradient(h)) + b(h)", ""),
        "b_stopped": Row("a(h) + b(h.detach())", "a(h) + b(lax.stop_gradient(h))", ""),
        "both_stopped": Row(
            "a(h.detach()) + b(h.detach())",
            "a(lax.stop_gradient(h)) + b(lax.stop_gradient(h))",
            "no way is left",
        ),
    },
    "freezing/multi_headed": {
        "open": Row("loss_a(a(h)) + loss_b(b(h))", "loss_a(a(h)) + loss_b(b(h))", ""),
        "b_stopped": Row(
            "loss_a(a(h)) + loss_b(b(h.detach()))",
            "loss_a(a(h)) + loss_b(b(lax.stop_gradient(h)))",
            "the trunk learns from head a alone; head b still learns",
        ),
        "a_alone": Row("loss_a(a(h))", "loss_a(a(h))", "the trunk's gradient is the same"),
    },
    "freezing/optimizer_subset": {
        f"step {i}": Row(
            "SGD(l2.parameters(), lr).step()",
            'sgd.update(grads["l2"], state)',
            "L1's gradient is computed" + (", and grows" if i > 1 else ", not applied"),
        )
        for i in (1, 2, 3)
    },
    "grad_modes/no_grad_part": {
        "both_outside": Row("y = x**2; z = x**3", "y = x**2; z = x**3", ""),
        "y_inside": Row("with no_grad(): y = x**2", "y = no_grad(lambda: x**2)()", ""),
        "z_inside": Row("with no_grad(): z = x**3", "z = no_grad(lambda: x**3)()", ""),
        "both_inside": Row(
            "with no_grad(): y, z = ...",
            "no_grad(lambda: x**2 + x**3)()",
            'in JAX None, or an error on request: unused="error"',
        ),
    },
}


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
    pairs = _pairs(case, torch_graphs, jax_graphs)
    names = _row_names(case, torch_seen, len(pairs))
    verdict = _verdict(case, torch_seen, jax_seen)
    found = {}
    for i, (name, pair) in enumerate(zip(names, pairs, strict=True)):
        several = Row("", "", "")  # one idiom does not say what each row does
        text = ROWS.get(case.id, {}).get(name, several if len(names) > 1 else Row(*case.idiom, ""))
        torch, jax_ = (
            _as_used(graph, _observed(seen, name, i, len(names)), inputs)
            for graph, seen in zip(pair, (torch_seen, jax_seen), strict=True)
        )
        raised = [graph.framework for graph in (torch, jax_) if graph.failure]
        sign = f"{raised[0]} raises" if raised else verdict
        if case.deviation and not raised and _same_leaves(torch, jax_):
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


def _pairs(case: Case, torch: Sequence[Graph], jax_: Sequence[Graph]) -> list[tuple[Graph, Graph]]:
    if torch and len(jax_) == 1:
        jax_ = [*jax_] * len(torch)
    if jax_ and len(torch) == 1:
        torch = [*torch] * len(jax_)
    if not torch or len(torch) != len(jax_):
        raise CaseError(
            f"{case.id} has no picture: its reference calls backward {len(torch)} times, its twin "
            f"differentiates {len(jax_)} functions at numbers, and the two cannot be put side by "
            "side; those made for it have picture=True"
        )
    left = list(jax_)
    pairs = []
    for graph in torch:  # they may differentiate in another order
        other = next((g for g in left if _same_leaves(graph, g)), left[0])
        left.remove(other)
        pairs.append((graph, other))
    return pairs


def _same_leaves(a: Graph, b: Graph) -> bool:
    """Whether the same gradients land."""
    mine, others = ({leaf.name: leaf.grad for leaf in g.leaves if leaf.slot} for g in (a, b))
    return mine.keys() == others.keys() and all(
        (mine[name] is None) == (others[name] is None)
        and np.isclose(mine[name] or 0.0, others[name] or 0.0)
        for name in mine
    )


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

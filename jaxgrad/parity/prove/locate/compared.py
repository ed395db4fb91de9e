"""Choose the values whose cotangents are compared, and the JAX value of each."""

from __future__ import annotations

from collections.abc import Collection

from jaxgrad.parity.prove.align.align import Alignment
from jaxgrad.parity.prove.record.jax_side.flow import leaf_of
from jaxgrad.parity.prove.record.jax_side.program import JaxProgram, Key, Spot
from jaxgrad.parity.prove.record.torch_side.values import TorchRun


VIEWS = frozenset(
    "getitem reshape view transpose permute flatten contiguous clone to unsqueeze squeeze split "
    "chunk unbind result".split()
)
_PROPERTIES = ("T", "mT", "H", "mH", "real", "imag", "t", "float", "double", "type")
_DETACHES = ("input", "detach", "data")


def compared(
    run: TorchRun,
    alignment: Alignment,
    program: JaxProgram,
    used: Collection[Key] = (),
    live: Collection[Key] | None = None,
    returned: Collection[Key] = (),
) -> dict[int, Spot]:
    """Return for each distinct torch value the JAX value whose cotangent is compared with it.

    Args:
        run: torch's run.
        alignment: The alignment of torch's values with JAX's.
        program: The port's program.
        used: The JAX values on which an output depends. A copy that nothing uses, such as the
            maxima that are computed together with their indices, has no cotangent.
        live: The JAX values from which a gradient flows on to a parameter or an input; None for
            all. A stop_gradient loses the cotangents behind it, as torch's detach does.
        returned: The JAX values that a jitted function returns, which is another key of each.
    """
    chosen: dict[int, Spot] = {}
    served: set[int] = set()
    copies = _live_copies(run, alignment, live, returned)
    copied = {alignment.first[i] for i in copies}
    carried = {alignment.first[i] for i, v in enumerate(run.values) if v.cotangent is not None}
    without_gradient = stopped(run)
    for i, value in enumerate(run.values):
        spot, first = _first_used(alignment, i, used), alignment.first[i]
        # A value that is constant on this draw alone is known from the other draw.
        if spot is None or alignment.trivial[i] or value.print[0] <= 1:
            continue
        if first in served and i not in copies:
            continue
        if value.op == "input" and (i in copied or _is_stopped(spot, program)):
            continue  # the gradients surface compares it
        if not value.requires_grad and i not in without_gradient:
            continue  # depends only on data, for which torch computes no gradient
        if not value.requires_grad and live is not None and spot.key not in live:
            continue  # both programs stop the gradient before it reaches a parameter
        if not value.inputs and value.op in (*VIEWS, *_PROPERTIES):
            continue  # a view of a weight, which the gradients surface compares
        if i in copies:
            spot = alignment.spots[copies[i]]
        elif run.values[first].cotangent is None and value.cotangent is not None:
            # The first copy was detached (a straight-through estimator); the last one has the
            # gradient.
            spot = alignment.spots[alignment.candidates[i][-1]]
        elif first != i or (value.cotangent is None and i in carried):
            continue
        if value.cotangent is not None:
            served.add(first)
        if (
            leaf_of(spot.key) is None
            and spot.path not in program.closed
            and not _has_siblings(run, i)
        ):
            chosen[i] = spot
    return chosen


def _first_used(alignment: Alignment, number: int, used: Collection[Key]) -> Spot | None:
    """Return the first JAX value equal to a torch value that is used, or else the first one."""
    spots = (alignment.spots[k] for k in alignment.candidates[number])
    return next((spot for spot in spots if spot.key in used), alignment.spot(number))


def _is_stopped(spot: Spot, program: JaxProgram) -> bool:
    """Return whether a value is the result of a stop_gradient, as in a max pool of an input."""
    equation = program.equations.get(spot.path)
    return equation is not None and equation.primitive.name == "stop_gradient"


def _live_copies(
    run: TorchRun,
    alignment: Alignment,
    live: Collection[Key] | None,
    returned: Collection[Key] = (),
) -> dict[int, int]:
    """Map the results of custom Functions to the JAX values that are equal and follow each other.

    A gradient reversal returns its operand, but its cotangent differs from the operand's. The
    values inside of a custom rule have none.
    """
    chosen: dict[int, int] = {}
    groups: dict[int, list[int]] = {}
    for i, value in enumerate(run.values):
        group = groups.setdefault(alignment.first[i], [])
        if value.cotangent is not None and (value.function or not group):
            group.append(i)
    for first, group in groups.items():
        every = alignment.candidates[first]
        candidates = tuple(k for k in every if alignment.spots[k].key not in returned) or every
        if live is not None:
            flowing = [k for k in candidates if alignment.spots[k].key in live]
            candidates = flowing if len(flowing) >= len(group) else candidates
        if len(group) > 1 and run.values[first].op == "input":  # no candidate is a leaf
            chosen |= zip(group[1:], candidates, strict=False)
        elif len(group) > 1:
            # If torch's first copy has no gradient, neither has the first one of JAX.
            begins = 0 if group[0] == first else max(0, len(candidates) - len(group))
            chosen |= zip(group, candidates[begins:], strict=False)
    return chosen


def stopped(run: TorchRun) -> set[int]:
    """Return the values that torch computes under `no_grad` from values that have a gradient.

    The values inside a custom Function are not among them: its `backward` has their gradient.
    """
    inside = inside_functions(run)
    trained = {name for name, gradient in run.grads.items() if gradient is not None}
    stopped: set[int] = set()
    for i, value in enumerate(run.values):
        reads = (k for k in value.inputs if k < i)
        if (
            i not in inside
            and not value.requires_grad
            and (
                trained & set(value.weights)
                or any(run.values[k].requires_grad or k in stopped for k in reads)
            )
        ):
            stopped.add(i)
    return stopped


def under_no_grad(run: TorchRun) -> set[int]:
    """Return the values that torch computes under `no_grad`, and no others of `stopped`.

    A call that reads a value with a gradient, and whose result has none, is under `no_grad`, unless
    it is a detach. A call that reads a detached value may be or not. The calls in the `forward` of
    a custom Function are not, although they have no gradient, and neither are those that read the
    shape of a tensor alone, such as `new_zeros`.
    """
    trained = {name for name, gradient in run.grads.items() if gradient is not None}
    found: set[int] = set()
    for i in sorted(stopped(run) - inside_functions(run)):
        value = run.values[i]
        reads = [k for k in value.inputs if k < i]
        direct = trained & set(value.weights) or any(run.values[k].requires_grad for k in reads)
        if value.op in _DETACHES or value.op.startswith("new_") or value.op.endswith("_like"):
            continue
        if direct or any(k in found for k in reads):
            found.add(i)
    return found


def inside_functions(run: TorchRun) -> set[int]:
    """Return the values from which the `forward` of a custom Function computes its result.

    They have no gradient: torch differentiates the Function with its `backward`.
    """
    inside: set[int] = set()
    todo = [k for value in run.values if value.function for k in value.inputs]
    while todo:
        i = todo.pop()
        value = run.values[i]
        if i not in inside and value.cotangent is None and value.op not in _DETACHES:
            inside.add(i)
            todo += value.inputs
    return inside


def _has_siblings(run: TorchRun, number: int) -> bool:
    """Whether the call that returned this value also returned other values.

    A port may read the last state of an LSTM from its outputs; the cotangent of one value is
    then included in the other's.
    """
    value = run.values[number]
    near = (number - 2, number - 1, number + 1, number + 2)
    calls = [run.values[k].call_number for k in near if 0 <= k < len(run.values)]
    return value.call_number >= 0 and value.call_number in calls and value.op not in VIEWS

"""Find inputs of other sizes on which a torch program takes the other arm of a branch on a size.

Both arms are then written, and the proof runs on these inputs too.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from jaxgrad._core.typing import PyTree
from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.port.interpretation.attempts import Interpreted
from jaxgrad.parity.port.ir import Loop
from jaxgrad.parity.port.source.refusals import Place, PortError
from jaxgrad.parity.port.values.scope import Run


_WAYS = ("inlined", "rearranging", "tracing", "early", "numbered", "leaves_holes", "warm")


def with_both_arms(
    found: Interpreted, inputs: PyTree, interpret: Callable[..., Interpreted]
) -> tuple[Interpreted, list[PyTree]]:
    """Interpret once more, with both arms of the branches that other sizes take.

    Args:
        found: The runs on the example inputs.
        inputs: The example inputs.
        interpret: Interprets the module on inputs, with fields of the run as keywords.

    Returns:
        The runs, and the inputs that take the other arms.
    """
    runs = found[0]
    answers = _answers(runs)
    if not answers:
        return found, []
    ways = _ways(runs)
    places: dict[Place, PyTree] = {}  # each test of which both arms are tried, with its witness
    for other in resized(inputs):
        with contextlib.suppress(PortError):
            given = _answers(interpret(other, **ways)[0])
            new = {p: other for p, own in answers.items() if given.get(p, own) - own}
            places = {**new, **places}
    while places:
        try:
            again = interpret(inputs, both=frozenset(places), **ways)
        except PortError as error:
            if error.place is None or places.pop(error.place, None) is None:
                break
        else:
            if len(again[0]) != len(runs):
                break
            return again, list({id(x): x for x in places.values()}.values())
    return found, []


def growing_loops(
    runs: Sequence[Run], inputs: PyTree, interpret: Callable[..., Interpreted]
) -> frozenset[Loop]:
    """Return the loops that have another number of iterations on inputs of other sizes.

    Args:
        runs: The runs on the example inputs.
        inputs: The example inputs.
        interpret: Interprets the module on inputs, with fields of the run as keywords.
    """
    own, growing = _iterations(runs), set[Loop]()
    others = itertools.chain(resized(inputs, _half), resized(inputs))
    for other in others if own else ():
        given: dict[Loop, set[int]] = {}
        with contextlib.suppress(PortError):  # torch may refuse another size after some loops
            interpret(other, loops=given, **_ways(runs))
        growing |= {loop for loop, counts in own.items() if given.get(loop, counts) - counts}
        if len(growing) == len(own):
            break
    return frozenset(growing)


def _iterations(runs: Sequence[Run]) -> dict[Loop, set[int]]:
    """Return how often each loop over a size iterates, in all runs."""
    found: dict[Loop, set[int]] = {}
    for run in runs:
        for loop, counts in run.loops.items():
            found.setdefault(loop, set()).update(counts)
    return found


def _ways(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the fields that say how the runs interpret the module."""
    return {name: getattr(runs[0], name) for name in _WAYS}


def _answers(runs: Sequence[Run]) -> dict[Place, set[bool]]:
    """Return what each test on a size gives in the runs."""
    given: dict[Place, set[bool]] = {}
    for run in runs:
        for place, answers in run.size_tests.answers.items():
            given.setdefault(place, set()).update(answers)
    return given


def _one_less(size: int) -> int:
    return max(1, size - 1)


def _half(size: int) -> int:
    """Return a size that a layer with a stride makes another one, unlike `_one_less`."""
    return (size + 1) // 2


def resized(inputs: PyTree, smaller: Callable[[int], int] = _one_less) -> Iterator[Any]:
    """Yield the inputs with one sample, or two; with shorter sequences; with smaller images.

    Args:
        inputs: Arrays.
        smaller: Function from the length of a sequence, or the side of an image, to the new one.
    """
    arrays = to_numpy(inputs)
    leaves = [x for x in jax.tree.leaves(arrays) if np.ndim(x)]
    rows = {len(x) for x in leaves}
    if rows == {1}:
        yield _mapped(lambda x: np.concatenate([x, x]), arrays)
    elif len(rows - {1}) == 1:  # what has one row is shared by all samples
        yield _mapped(lambda x: x[:1], arrays)
    for ndims in ((2, 3), (4, 5)):
        if any(x.ndim in ndims for x in leaves):
            yield _mapped(lambda x, ndims=ndims: _cut(x, smaller) if x.ndim in ndims else x, arrays)


def _cut(x: np.ndarray, smaller: Callable[[int], int]) -> np.ndarray:
    """Return the first elements of a sequence, or the first rows and columns of an image."""
    places = (1,) if x.ndim < 4 else range(2, x.ndim)
    return x[tuple(slice(smaller(n) if k in places else n) for k, n in enumerate(x.shape))]


def _mapped(change: Callable[[np.ndarray], np.ndarray], arrays: PyTree) -> Any:
    return jax.tree.map(lambda x: change(x) if np.ndim(x) else x, arrays)

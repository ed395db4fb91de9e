"""Mistakes that JAX may have made, each as a change of torch's run that can be tested."""

from __future__ import annotations

import collections
import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.prove.align.fingerprint import is_constant, print_distance
from jaxgrad.parity.prove.align.order import exchanged_axes
from jaxgrad.parity.prove.causes.mistakes.call import MULTIPLE, NUMBER, TorchCall
from jaxgrad.parity.prove.causes.mistakes.table import results, variants
from jaxgrad.parity.prove.causes.numbers import SAME, as_written
from jaxgrad.parity.prove.edits import InTorch
from jaxgrad.parity.prove.record.jax_side.program import Key
from jaxgrad.parity.prove.record.noise import Noise, sharing
from jaxgrad.parity.prove.record.torch_side.randomness import replaying
from jaxgrad.parity.prove.record.torch_side.values import MOVES, Change, TorchRun, Value
from jaxgrad.parity.prove.wording import TORCH, Difference, Multiple, Mutual, Setting, Told


SUBTRACTS = ("sub", "isub")
SUMS = ("add", "radd", "iadd", *SUBTRACTS)
# Calls that move all elements of one value.
_MOVED = frozenset(
    "transpose permute t T mT swapaxes swapdims movedim view reshape contiguous".split()
)
_ADDS = ("add", "radd", "iadd")
_DEVIATIONS = ("std", "sqrt", "norm")
_HIDES = ("masked_fill", "where")  # calls that hide scores
_OPERANDS = 24  # values that may take the place of an operand

Numbers = tuple[float, ...]


class Discrete(NamedTuple):
    """A torch call that returns integers or booleans, with a mistake."""

    call: Value
    result: np.ndarray  # with the mistake
    comparison: tuple[str, float] | None  # by which sign, and with which number
    missing: bool = False  # whether the mistake is that JAX has no such call


class Trial(NamedTuple):
    """One mistake, and the changes with which torch makes it too."""

    value: int  # the torch value at which it is reported
    difference: Difference
    changes: tuple[Change, ...]
    everywhere: Callable[[], Iterable[Change]] = tuple  # the changes of all similar calls
    tested: str = "rerunning torch with this change"
    partial: bool = False  # whether a correct port may compute the result on its way
    fix: tuple[str, str] = ("", "")  # what the JAX code contains, and what it should contain
    write: InTorch = InTorch()
    row: int | None = None  # the JAX value that equals the result of the changed call
    exchanged: tuple[tuple[str, str], ...] = ()  # weights that take each other's place
    general: int = 0  # as in `TorchCall`
    factors: tuple[tuple[str, float], ...] = ()  # of weights that are multiplied by a number
    changed: int = -1  # the value that the changed call computes, if this is not `value`
    key: Key | None = None  # the JAX value that the changed call then computes
    operand: bool = False  # whether the result is an operand of the call, which JAX has anyway
    transposes: bool = False  # whether JAX's value is torch's with two axes exchanged
    unread: int = -1  # the value that the changed call does not read any more
    whole: bool = False  # whether it is a cause only if it explains all outputs
    calls: int = 1  # that are changed for one mistake
    shapes: tuple[tuple[int, ...], ...] = ()  # that values of the JAX program must have
    occurs: int = -1  # a value that JAX must have, with the mistake
    discrete: Discrete | None = None  # the changed call, if it returns integers or booleans

    @property
    def text(self) -> str:
        """What the port does wrong if torch is the reference."""
        return self.difference.says(TORCH)

    @property
    def called(self) -> int:
        """The value that the changed call computes."""
        return self.value if self.changed < 0 else self.changed


def in_call(run: TorchRun, i: int, numbers: Numbers, shown: int = -1) -> Iterator[Trial]:
    """Yield the mistakes in the call that computed a value; `shown` is where they show."""
    value = run.values[i]
    if value.call is not None:
        for wrong in variants(live(value, numbers)):
            moves = shown < 0 or value.op in MOVES
            if moves or wrong.reorders:
                yield _trial(run, i, wrong, numbers, shown if moves else -1)


def with_results(run: TorchRun, i: int, numbers: Numbers) -> Iterator[tuple[Trial, np.ndarray]]:
    """Yield the mistakes in the call that computed a value, with what the call then returns."""
    value = run.values[i]
    if value.call is not None and value.data is not None and not in_place(value):
        for wrong, x in results(live(value, numbers)):
            yield _trial(run, i, wrong, numbers), x


def _trial(run: TorchRun, i: int, wrong: TorchCall, numbers: Numbers, shown: int = -1) -> Trial:
    value = run.values[i]
    tested = f"rerunning torch with {wrong.setting}"
    if wrong.setting == "skip":
        tested = "skipping it in torch"

    def everywhere() -> list[Change]:
        alike = [v for v in run.values if v.op == value.op and v.call_number >= 0]
        return [change(wrong.difference, v, numbers) for v in alike]

    return Trial(
        i if shown < 0 else shown,
        wrong.difference,
        (change(wrong.difference, value, numbers),),
        everywhere,
        tested,
        wrong.partial,
        wrong.fix,
        wrong.write,
        changed=i,
        general=wrong.general,
        shapes=wrong.shapes,
        occurs=i if wrong.occurs else -1,
    )


def scaled(run: TorchRun, i: int, row: int, factor: float) -> Trial:
    """Return the trial in which JAX's value is a multiple of torch's."""
    value = run.values[i]

    def call(func: Any, args: Any, kwargs: Any) -> Any:
        if in_place(value):
            return args[0].copy_(_out_of_place(func)(*args, **kwargs) * factor)
        return func(*args, **kwargs) * factor

    def everywhere() -> list[Change]:
        alike = [v for v in run.values if v.op == value.op and v.call_number >= 0]
        return [Change(v.call_number, call) for v in alike]

    text = Multiple("value", as_written(factor), as_written(1 / factor))
    tested = "scaling it in torch"
    changes = (Change(value.call_number, call),)
    return Trial(i, text, changes, everywhere, tested, partial=True, row=row, general=MULTIPLE)


def scaled_weight(i: int, name: str, row: int, factor: float) -> Trial:
    """Return the trial in which JAX multiplies a weight that a call reads by a number."""
    number = as_written(factor)
    text = Told(
        f"JAX multiplies {name} by {number}, torch does not",
        f"torch does not multiply {name} by {number}, JAX does",
    )
    tested = "multiplying it in torch"
    return Trial(i, text, (), tested=tested, row=row, factors=((name, factor),))


def shared_masks(
    run: TorchRun, noise: Sequence[Noise], shapes: Mapping[int, tuple[int, ...]]
) -> tuple[Trial, np.ndarray] | None:
    """Return the trial in which torch draws one mask where JAX does, with the first result.

    Args:
        run: torch's run.
        noise: The random numbers that torch drew.
        shapes: The shapes of JAX's masks, by the position of torch's numbers.
    """
    calls = {noise[number].call for number in shapes}
    values = {v.call_number: i for i, v in reversed([*enumerate(run.values)])}
    drawn = {c: [k for k, n in enumerate(noise) if n.call == c] for c in sorted(calls & {*values})}
    changes = tuple(
        Change(call, _unchanged, masks=tuple(shapes.get(k, noise[k].drawn.shape) for k in numbers))
        for call, numbers in drawn.items()
    )
    if not changes:
        return None
    (number, shape), first = next(iter(shapes.items())), changes[0]
    mask = "the mask" if len(shapes) == 1 else f"the first of {len(shapes)} shared masks"
    one, each = list(shape), list(noise[number].drawn.shape)
    text = Told(
        f"{mask} has the shape {one}, torch's has {each}",
        f"{mask} has the shape {each}, JAX's has {one}",
    )
    value = run.values[values[first.number]]
    assert value.call is not None
    func, args, kwargs = value.call
    numbers = sharing([noise[k] for k in drawn[first.number]], first.masks)
    with torch.no_grad():
        out = replaying(inspect.unwrap(func), numbers)(*args, **kwargs)
    return Trial(values[first.number], text, changes), to_numpy(out)


def _unchanged(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    return func(*args, **kwargs)


def shuffled(run: TorchRun, i: int, indices: np.ndarray, key: Key) -> Trial:
    """Return the trial in which JAX has the elements of a value in another order.

    Args:
        run: torch's run.
        i: The value.
        indices: The indices with which torch's flat elements give JAX's.
        key: The JAX value.
    """
    value = run.values[i]

    def call(func: Any, args: Any, kwargs: Any) -> Any:
        out = func(*args, **kwargs)
        return out.reshape(-1)[torch.as_tensor(indices)].reshape(out.shape)

    def everywhere() -> list[Change]:
        like = value.op, value.part, value.shape
        alike = [v for v in run.values if (v.op, v.part, v.shape) == like and v.call_number >= 0]
        return [Change(v.call_number, call) for v in alike]

    text = _in_another_order(value, indices)
    return Trial(i, text, (Change(value.call_number, call),), everywhere, key=key)


def _in_another_order(value: Value, indices: np.ndarray) -> Difference:
    """Return the difference that JAX has the elements of a value in another order."""
    axes = exchanged_axes(indices, value.shape)
    if axes is not None and value.shape[axes[0]] == value.shape[axes[1]]:
        which = f"axes {axes[0]} and {axes[1]} of torch's {value.op} output"
        return Told(f"JAX has {which} exchanged", f"{which} are exchanged in JAX")
    at = int(np.flatnonzero(indices != np.arange(indices.size))[0])
    there, here = (
        [int(n) for n in np.unravel_index(k, value.shape)] for k in (at, int(indices[at]))
    )
    return Told(
        f"JAX has the elements of torch's {value.op} output in another order: it has at {there} "
        f"what torch has at {here}",
        f"torch has the elements of its {value.op} output in another order than JAX: it has at "
        f"{here} what JAX has at {there}",
    )


def without_term(run: TorchRun, i: int, kept: int, term: int, key: Key | None) -> Trial | None:
    """Return the trial in which a sum or a difference is its first term alone.

    Args:
        run: torch's run.
        i: The result of torch's call.
        kept: The operand that JAX has.
        term: The operand that it has not.
        key: The JAX value that equals the first one.
    """
    value = run.values[i]
    args = () if value.call is None else value.call[1]
    places = [n for n, x in enumerate(args) if is_value(x, run.values[kept])]
    if len(places) != 1 or in_place(value) or (value.op in SUBTRACTS and places != [0]):
        return None

    def call(func: Any, args: Any, kwargs: Any) -> Any:
        return args[places[0]].expand_as(func(*args, **kwargs)).clone()

    name = _names(run)[term]
    text = Told(
        f"a term of the sum is missing: {name}, which torch's {value.in_words} reads",
        f"the sum has a term that JAX lacks: {name}, which torch's {value.in_words} reads",
    )
    changes = (Change(value.call_number, call),)
    return Trial(i, text, changes, tested="leaving it out in torch", key=key)


def before_updates(run: TorchRun) -> Trial | None:
    """Return the trial in which calls read weights as they were before torch changed them.

    The forward pass changes the weights in place, as a target network that follows another one, and
    reads them later in the same call.
    """
    first: dict[int, Value] = {}  # the call that first changes a weight, by the tensor's id
    readers: dict[int, list[Tensor]] = {}  # the changed weights that a later call reads
    shown = -1
    for i, value in enumerate(run.values):
        if value.call is None:
            continue
        _, args, kwargs = value.call
        if in_place(value) and isinstance(args[0], Tensor):
            if value.weights:
                first.setdefault(id(args[0]), value)
        elif value.call_number not in readers:
            read = [x for x in (*args, *kwargs.values()) if id(x) in first]
            if read:
                readers[value.call_number] = read
                shown = i if shown < 0 else shown
    if not readers:
        return None
    kept: dict[int, Tensor] = {}  # the weights before their change, in the run that is going on

    def keep(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        kept[id(args[0])] = args[0].detach().clone()
        return func(*args, **kwargs)

    def read_old(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        named = {name: kept.get(id(x), x) for name, x in kwargs.items()}
        return func(*(kept.get(id(x), x) for x in args), **named)

    used = {id(x) for read in readers.values() for x in read}
    names = [first[key].weights[0] for key in first if key in used]
    which = names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")
    it = "them" if len(names) > 1 else "it"
    text = Told(
        f"JAX reads {which} before the forward pass changes {it}, torch reads {it} after that",
        f"torch reads {which} after the forward pass changes {it}, JAX reads {it} before that",
    )
    keeping = (Change(first[key].call_number, keep) for key in used)
    reading = (Change(number, read_old) for number in readers)
    tested = "rerunning torch with the values before"
    return Trial(shown, text, (*keeping, *reading), tested=tested)


def eps_inside(run: TorchRun, i: int) -> Iterator[Trial]:
    """Yield the trial in which eps is added inside of a square root, to a variance.

    torch adds it to a deviation, `x.std() + eps`. `reordered` finds the reverse.
    """
    value = run.values[i]
    if value.call is None or len(value.inputs) != 1 or value.op not in _ADDS:
        return
    (read,) = value.inputs
    eps = [x for x in value.call[1] if isinstance(x, float)]
    if run.values[read].op not in _DEVIATIONS or len(eps) != 1:
        return

    def inside(_: Any, __: Any, ___: Any, x: Tensor) -> Any:
        return (x**2 + eps[0]).sqrt()

    text = Told(
        "eps is inside the square root, torch adds it outside",
        "eps is outside the square root, JAX adds it inside",
    )
    change = Change(value.call_number, inside, (read,))
    yield Trial(i, text, (change,), _of_line(run, i, eps_inside), whole=True)


def _of_line(
    run: TorchRun, i: int, mistakes: Callable[[TorchRun, int], Iterator[Trial]]
) -> Callable[[], Iterable[Change]]:
    """Return a function that makes a mistake in all calls of a line, such as those of blocks."""

    def changes() -> Iterator[Change]:
        value = run.values[i]
        for k, other in enumerate(run.values):
            if (other.op, other.line) == (value.op, value.line):
                yield from (change for trial in mistakes(run, k) for change in trial.changes)

    return changes


def without_masks(run: TorchRun, i: int) -> Iterator[Trial]:
    """Yield the trials in which a call ignores a mask, or applies it to the result of a softmax.

    They are a mean of all elements for a sum of some, divided by their number, and weights that are
    set to zero after a softmax for scores that are hidden before it.
    """
    value, alike = run.values[i], _of_line(run, i, without_masks)
    if value.call is None:
        return
    if value.op in ("div", "truediv"):
        for total in (run.values[k] for k in value.inputs if run.values[k].op == "sum"):
            for masked in (run.values[k] for k in total.inputs if run.values[k].op == "mul"):
                for k in masked.inputs:
                    if run.values[k].shape == masked.shape:
                        found = _plain_mean(i, value, total, masked, (k, run.values[k]))
                        yield from (x._replace(everywhere=alike) for x in found)
    if value.op == "softmax":
        for hidden in (run.values[k] for k in value.inputs if run.values[k].op in _HIDES):
            for k in hidden.inputs:
                if run.values[k].shape == hidden.shape:
                    yield _masked_weights(i, value, k)._replace(everywhere=alike)


def _plain_mean(
    i: int, value: Value, total: Value, masked: Value, read: tuple[int, Value]
) -> Iterator[Trial]:
    """Yield the trial in which the mask of a mean is one everywhere, in the sum and in the count.

    Args:
        i: The index of the mean.
        value: The mean.
        total: The sum that it divides.
        masked: The terms, multiplied by the mask.
        read: The terms without the mask, and their index.
    """
    if value.call is None or total.call is None or masked.call is None:
        return
    number, terms = read
    masks = [x for x in masked.call[1] if isinstance(x, Tensor) and not is_value(x, terms)]
    counts = [x for x in value.call[1] if isinstance(x, Tensor) and not is_value(x, total)]
    if len(masks) != 1 or len(counts) != 1 or not counts[0].numel():
        return
    count = masks[0].numel() / counts[0].numel()
    sum_, (_, *args), kwargs = total.call

    def mean(func: Any, own: Any, _: Any, x: Tensor) -> Any:
        return (sum_(x, *args, **kwargs) / count).expand_as(func(*own))

    text = Told(
        "the mask is ignored: the mean is over all elements, torch's is over those that it keeps",
        "the mean is over the elements that a mask keeps, JAX ignores the mask",
    )
    yield Trial(i, text, (Change(value.call_number, mean, (number,)),), whole=True)


def _masked_weights(i: int, value: Value, read: int) -> Trial:
    def softmax(func: Any, args: Any, kwargs: Any, scores: Tensor) -> Any:
        masked, *rest = args
        return func(scores, *rest, **kwargs) * (masked == scores)

    text = Told(
        "the mask is applied after the softmax, torch applies it before",
        "the mask is applied before the softmax, JAX applies it after",
    )
    # Without the mask, the outputs are the same if the masked values are zeros.
    return Trial(i, text, (Change(value.call_number, softmax, (read,)),), whole=True, occurs=i)


def averages(run: TorchRun, i: int, numbers: Numbers) -> Iterator[Trial]:
    """Yield the trials in which a weighted average has other weights, if a value is an average.

    Torch computes it with two numbers whose sum is 1, each in a product or as the `alpha` of the
    sum, as in `average.mul_(0.9).add_(x, alpha=0.1)`. JAX's program contains the other numbers.
    """
    own = _weights(run, i)
    if own is None:
        return
    first, second = (f"{weight.number:g}" for weight in own)
    others = {f"{x:g}": x for x in (own[1].number, *numbers) if 0 < x < 1}
    for text, x in others.items():
        if text == first:
            continue

        def everywhere(x: float = x) -> list[Change]:
            pairs = filter(None, (_weights(run, k) for k in range(len(run.values))))
            alike = [w for w in pairs if [f"{y.number:g}" for y in w] == [first, second]]
            return [change for weights in alike for change in _weighted(weights, x)]

        yield Trial(
            i,
            Setting(
                "the weights of the average",
                f"{text} and {1 - x:g}",
                f"{first} and {second}",
                verb="are",
            ),
            _weighted(own, x),
            everywhere,
            general=NUMBER,
            calls=len(own),
        )


class _Weight(NamedTuple):
    """The weight of a term of an average."""

    call: int  # the number of the call that multiplies by it
    number: float


def _weights(run: TorchRun, i: int) -> tuple[_Weight, _Weight] | None:
    """Return the weights of the terms of a sum, if their sum is 1."""
    value = run.values[i]
    if value.op not in ("add", "radd", "iadd") or value.call is None:
        return None
    factors = [w for k in value.inputs if k != i for w in _factor(run.values[k])]
    alpha = value.call[2].get("alpha", 1)
    if isinstance(alpha, float):
        factors.append(_Weight(value.call_number, alpha))
    whole = len(factors) == 2 and abs(factors[0].number + factors[1].number - 1) < SAME
    return (factors[0], factors[1]) if whole else None


def _factor(value: Value) -> list[_Weight]:
    """Return the number by which a call multiplies a tensor."""
    if value.op not in ("mul", "rmul", "imul") or value.call is None:
        return []
    return [_Weight(value.call_number, x) for x in value.call[1] if isinstance(x, float)]


def _weighted(own: tuple[_Weight, _Weight], x: float) -> tuple[Change, ...]:
    """Return the changes with which an average has the weights `x` and `1 - x`."""

    def change(weight: _Weight, new: float) -> Change:
        def call(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
            def other(y: Any) -> Any:
                # A rerun that measures rounding perturbs the numbers of all calls.
                same = isinstance(y, float) and abs(y - weight.number) < SAME
                return new if same else y

            return func(*map(other, args), **{name: other(y) for name, y in kwargs.items()})

        return Change(weight.call, call)

    return change(own[0], x), change(own[1], 1 - x)


def reordered(run: TorchRun, i: int) -> Iterator[Trial]:
    """Yield the trials in which a call and one that reads its result are in the other order."""
    first = run.values[i]
    for second in (v for v in run.values if i in v.inputs):
        if first.op == second.op:
            continue
        for places in _chained(run, first, second):

            def everywhere(second: Value = second, places: Places = places) -> list[Change]:
                pairs = [
                    (v, w)
                    for w in run.values
                    if w.op == second.op
                    for v in (run.values[k] for k in w.inputs)
                    if v.op == first.op and places in _chained(run, v, w)
                ]
                return [change for v, w in pairs for change in _exchanged(run, v, w, places)]

            text = Told(
                f"{second.op} comes before {first.op}, torch calls {first.op} first",
                f"{first.op} comes before {second.op}, JAX calls {second.op} first",
            )
            changes = _exchanged(run, first, second, places)
            yield Trial(i, text, changes, everywhere, occurs=i)


Places = tuple[int, int]


def _chained(run: TorchRun, first: Value, second: Value) -> list[Places]:
    """Return where two calls can be exchanged, of which the second reads the result of the first.

    Each pair has the position of an operand of the first call, which the second would read, and
    the position at which the second reads the result.
    """
    if first.call is None or second.call is None or first.shape != second.shape:
        return []
    if any(v.op in (*MOVES, "input") or in_place(v) for v in (first, second)):
        return []
    if not any(run.values[k] is first for k in second.inputs):
        return []
    computed = [run.values[k] for k in first.inputs]
    operands = [n for n, x in enumerate(first.call[1]) if any(is_value(x, v) for v in computed)]
    alike = [n for n in operands if first.call[1][n].shape == first.shape]
    read = [n for n, x in enumerate(second.call[1]) if is_value(x, first)]
    before = _before(run, first)
    return [
        (operand, place)
        for operand in alike
        for place in read
        if _has_operands(run, first, operand, before) and _has_operands(run, second, place, before)
    ]


def _before(run: TorchRun, first: Value) -> int:
    """Return the number of values that are computed before a call."""
    return [v.call_number for v in run.values].index(first.call_number)


def _has_operands(run: TorchRun, value: Value, operand: int, before: int) -> bool:
    """Whether all operands of a call but one are weights, numbers or values computed before."""
    assert value.call is not None
    known = {operand, *_earlier(run, value, operand, before)}
    computed = (isinstance(x, Tensor) and x.grad_fn is not None for x in value.call[1])
    return all(n in known or not flag for n, flag in enumerate(computed))


def _earlier(run: TorchRun, value: Value, operand: int, before: int) -> dict[int, int]:
    """Return the operands of a call, but one, that are values computed before, by position."""
    assert value.call is not None
    return {
        n: k
        for n, x in enumerate(value.call[1])
        for k in value.inputs
        if n != operand and k < before and is_value(x, run.values[k])
    }


def _exchanged(run: TorchRun, first: Value, second: Value, places: Places) -> tuple[Change, ...]:
    """Return the changes that exchange two calls, as `_chained` says."""
    operand, place = places
    before = _before(run, first)
    return (
        _moved(run, second, place, first, operand, before),
        _moved(run, first, operand, second, place, before),
    )


def _moved(run: TorchRun, value: Value, operand: int, to: Value, place: int, before: int) -> Change:
    """Return the change that makes the call of a value in the place of another call.

    Args:
        run: torch's run.
        value: The value whose call is made.
        operand: The position of the operand that is replaced.
        to: The value of the call that it replaces.
        place: The position of that call's operand, which it gets.
        before: The number of values that are computed before both calls.
    """
    assert value.call is not None
    func, given, kwargs = value.call
    found = _earlier(run, value, operand, before)

    def call(func: Any, args: Any, _: Any, *read: Tensor) -> Any:
        live = {**dict(zip(found, read, strict=True)), operand: args[place]}
        return func(*(live.get(n, x) for n, x in enumerate(given)), **kwargs)

    plain, reads = inspect.unwrap(func), tuple(found.values())
    return Change(to.call_number, call, reads, plain, value.call_number)


def rewired(
    run: TorchRun, i: int, visible: Callable[[int], bool]
) -> Iterator[tuple[Trial, np.ndarray]]:
    """Yield the trials in which a call reads another value of the same shape, with the results.

    A value that is only transposed or reshaped before the call reads it is replaced before that.
    """
    value = run.values[i]
    if value.call is None or in_place(value) or value.op in MOVES:
        return
    func, args, kwargs = value.call
    names = _names(run)
    for read in value.inputs:
        places = [n for n, x in enumerate(args) if is_value(x, run.values[read])]
        for old, move in _unmoved(run, read) if places else ():
            given = run.values[old]
            others = [k for k in range(i) if _fits(run, k, given) and visible(k)]
            for k in _distinct(run, others)[-_OPERANDS:]:

                def call(
                    func: Any, args: Any, kwargs: Any, other: Tensor,
                    places: Any = places, move: Any = move, shape: Any = given.shape,
                ) -> Any:  # fmt: skip
                    moved = move(other.reshape(shape))
                    live = [moved.reshape(x.shape) if n in places else x
                            for n, x in enumerate(args)]  # fmt: skip
                    return func(*live, **kwargs)

                own = args
                if value.op == "setitem":  # which writes into its first argument
                    own = (args[0].clone(), *args[1:])
                try:
                    with torch.no_grad():
                        out = call(func, own, kwargs, torch.as_tensor(run.values[k].data))
                except Exception:  # the call does not accept this value
                    continue
                out = own[0] if value.op == "setitem" else out
                if not isinstance(out, Tensor):
                    continue
                text = Told(
                    f"JAX's {value.in_words} reads {names[k]}, torch's reads {names[old]}",
                    f"torch's {value.in_words} reads {names[old]}, JAX's reads {names[k]}",
                )
                changes = (Change(value.call_number, call, (k,)),)
                everywhere = functools.partial(_rewired_alike, run, i, k, call)
                yield Trial(i, text, changes, everywhere, unread=old), out.detach().numpy()


def exchanged_reads(run: TorchRun, one: Trial, other: Trial) -> Trial | None:
    """Return the trial in which two calls each read what the other one reads.

    Args:
        run: torch's run.
        one: The trial in which the first call reads another value.
        other: The same for the second call.
    """
    (first,), (second,) = one.changes, other.changes
    if (first.reads, second.reads) != ((other.unread,), (one.unread,)):
        return None
    names, calls = _names(run), (run.values[one.value], run.values[other.value])
    at = " and in ".join(f"{call.in_words} at {call.line}" for call in calls)
    text = Mutual(f"{names[one.unread]} and {names[other.unread]} are exchanged in {at}")
    return one._replace(difference=text, changes=(first, second), everywhere=tuple, whole=True)


def _rewired_alike(run: TorchRun, i: int, read: int, call: Callable[..., Any]) -> Iterator[Change]:
    """Yield the change of a call and of those that the same line makes in other layers.

    Each reads the value that is as far before it as `read` is before `i`.
    """
    value, other = run.values[i], run.values[read]
    for k, alike in enumerate(run.values):
        if (alike.op, alike.line, alike.shape) == (value.op, value.line, value.shape):
            near = run.values[max(k - i + read, 0)]
            if (near.op, near.line, near.shape) == (other.op, other.line, other.shape):
                yield Change(alike.call_number, call, (k - i + read,))


def _unmoved(run: TorchRun, i: int) -> Iterator[tuple[int, Callable[[Tensor], Tensor]]]:
    """Yield a value, and those from which calls only move elements into it, with these moves."""
    moves: list[tuple[Callable[..., Any], Sequence[Any], Mapping[str, Any], int]] = []
    while True:
        taken = tuple(reversed(moves))

        def move(x: Tensor, taken: Any = taken) -> Tensor:
            for func, args, kwargs, place in taken:
                x = func(*args[:place], x, *args[place + 1 :], **kwargs)
            return x

        yield i, move
        value = run.values[i]
        if value.call is None or value.op not in _MOVED or len(value.inputs) != 1:
            return
        func, args, kwargs = value.call
        (source,) = value.inputs
        place = next((n for n, x in enumerate(args) if is_value(x, run.values[source])), None)
        if place is None:
            return
        moves.append((func, args, kwargs, place))
        i = source


def inner_stops(run: TorchRun, i: int, copy: Callable[[int], Key | None]) -> Iterator[Trial]:
    """Yield the trials in which one program alone stops a gradient inside an inner gradient.

    A stop is tried once for all calls in a row that have no other operand to differentiate.

    Args:
        run: torch's run.
        i: The result of the inner gradient.
        copy: Function from a value to the JAX value that equals it.
    """
    path, names = _differentiated(run, i), _names(run)
    for k in path:
        value = run.values[k]
        readers = [c for c in path if k in run.values[c].inputs and c != k]
        alone = [{*run.values[c].inputs} & {*path} == {k} for c in readers]
        stopped = value.op == "detach"
        if value.call_number < 0 or (not stopped and (not readers or alone == [True])):
            continue
        what = f"the gradient of {names[value.inputs[0] if stopped else k]}"
        texts = (
            f"JAX stops {what} inside the inner gradient, torch does not",
            f"torch does not stop {what} inside the inner gradient, JAX does",
        )
        if stopped:
            texts = (
                f"JAX does not stop {what} inside the inner gradient, torch does",
                f"torch stops {what} inside the inner gradient, JAX does not",
            )
        changes = (Change(value.call_number, _passed if stopped else _stopped),)
        yield Trial(i, Told(*texts), changes, key=copy(k))


def _differentiated(run: TorchRun, i: int) -> list[int]:
    """Return the values through which the inner gradient `i` passes."""
    before, after = {*run.values[i].inputs}, {*run.values[i].inputs}
    for k in range(i - 1, -1, -1):
        before |= {*run.values[k].inputs} if k in before else set()
    for k in range(i):
        after |= {k} if after & {*run.values[k].inputs} else set()
    return sorted(before & after)


def _stopped(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    return func(*args, **kwargs).detach()


def _passed(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    del func, kwargs
    return args[0].view_as(args[0])


def is_value(x: Any, value: Value) -> bool:
    """Whether an argument of a call is this value."""
    data = value.data
    return (
        isinstance(x, Tensor)
        and data is not None
        and x.shape == data.shape
        and (x.is_floating_point() or x.is_complex())
        and bool(np.array_equal(x.detach().numpy(), data))
    )


def _fits(run: TorchRun, k: int, given: Value) -> bool:
    """Whether a value could take the place of another one."""
    value = run.values[k]
    return (
        value.data is not None
        and given.data is not None
        and _without_ones(value.shape) == _without_ones(given.shape)
        and value.data.dtype == given.data.dtype
        and not is_constant(value.print)
        and bool(print_distance(value.print, given.print) > SAME)
    )


def _without_ones(shape: Sequence[int]) -> list[int]:
    return [n for n in shape if n != 1]


def _distinct(run: TorchRun, numbers: Sequence[int]) -> list[int]:
    """Leave out the copies of values."""
    return list({run.values[k].print.tobytes(): k for k in reversed(numbers)}.values())[::-1]


def _names(run: TorchRun) -> list[str]:
    """Name each value: with its line if several calls have its name, and what tells it apart."""
    calls = [v.call_number if v.call_number >= 0 else -1 - i for i, v in enumerate(run.values)]
    results = collections.Counter(calls)
    firsts = [v for v, new in zip(run.values, _new(calls), strict=True) if new]
    alike = collections.Counter(v.in_words for v in firsts)
    in_line = collections.Counter((v.in_words, v.line) for v in firsts)
    names: list[str] = []
    inputs, of_call, of_line = 0, collections.Counter[int](), collections.Counter[Any]()
    for value, call, new in zip(run.values, calls, _new(calls), strict=True):
        if value.op == "input":
            names.append(f"input {inputs}")
            inputs += 1
            continue
        called, at = value.in_words, (value.in_words, value.line)
        of_call[call] += 1
        of_line[at] += new
        which = "the result" if results[call] == 1 else f"result {of_call[call]} of {results[call]}"
        line = f" at {value.line}" if value.line and alike[called] > 1 else ""
        number = f" (call {of_line[at]} of {in_line[at]})" if line and in_line[at] > 1 else ""
        names.append(f"{which} of {called}{line}{number}")
    return names


def _new(calls: Sequence[int]) -> list[bool]:
    return [n == 0 or calls[n - 1] != call for n, call in enumerate(calls)]


def in_place(value: Value) -> bool:
    """Whether the call changed its operand, which is then no longer what the call read."""
    func = value.call[0] if value.call is not None else None
    name = getattr(func, "__name__", "")
    return name.endswith("_") and not name.startswith("__")


def _out_of_place(func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with the same result that leaves its operand, with a signature if it can.

    >>> _out_of_place(torch.Tensor.lerp_) is torch.Tensor.lerp
    True
    """
    plain = getattr(Tensor, func.__name__.removesuffix("_"), None)
    return plain or (lambda x, *args, **kwargs: func(x.clone(), *args, **kwargs))


def live(value: Value, numbers: Numbers) -> TorchCall:
    """Return the call that computed a value, as a function of its operands."""
    assert value.call is not None
    func, args, kwargs = value.call
    func = _out_of_place(func) if in_place(value) else func
    return TorchCall(func, args, kwargs, value.op, numbers=numbers)


def change(mistake: Difference, value: Value, numbers: Numbers) -> Change:
    """Return the change that makes a mistake in the call of a value, if it applies there."""
    changes_operand, op = in_place(value), value.op

    def call(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        plain = _out_of_place(func) if changes_operand else func
        own = TorchCall(plain, args, kwargs, op, numbers=numbers)
        out = next((wrong for wrong in variants(own) if wrong.difference == mistake), own).made()
        return args[0].copy_(out) if changes_operand else out

    return Change(value.call_number, call)

"""Find why the running statistics of batch norm differ: run torch with another rule of update.

JAX's libraries differ from torch in two ways. Their momentum is the part that stays, and torch's
the part that is replaced; and they divide the running variance by N, where torch divides it by
N - 1. Each is tried in torch itself, so that a layer may be called any number of times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from jaxgrad.parity.prove.causes.acceptance import Compared, confirms, settled
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.record.jax_side.program import literals
from jaxgrad.parity.prove.record.torch_side.values import Change, TorchRun
from jaxgrad.parity.prove.wording import TORCH, Difference, Mutual, Told


TESTED = "rerunning torch with {} reproduces JAX's updates"
_OPS = ("batch_norm", "instance_norm")
_STATISTICS = ("running_mean", "running_var")
_LOST = 4  # calls of a layer whose update may be lost
_ALIKE = 1e-9  # the largest difference of two numbers that are one momentum

# Function from torch's run on each draw to the comparisons of all that it changes.
Compare = Callable[[Sequence[TorchRun]], list[Compared]]


class Rule(NamedTuple):
    """How a layer updates its running statistics."""

    momentum: float  # the part that is replaced, as in torch
    biased: bool = False  # whether the variance is divided by N
    only: str = ""  # "running_mean" or "running_var", if the other one has torch's rule

    def update(self, func: Callable[..., Any], args: Any, kwargs: Any, *_: Any) -> Any:
        """Call torch's function with this rule."""
        from jaxgrad.parity.prove.causes.mistakes.call import TorchCall  # imports torch

        bound = TorchCall(func, args, kwargs, "").bound
        variance, x = bound.get("running_var"), bound["input"]
        before = {name: bound[name].clone() for name in _STATISTICS if bound.get(name) is not None}
        result = func(**bound | {"momentum": self.momentum})
        if self.biased and variance is not None:
            kept, count = (1 - self.momentum) * before["running_var"], x.numel() // x.shape[1]
            variance.sub_(kept).mul_((count - 1) / count).add_(kept)
        if self.only:
            func(**bound | before)
            for name, x in before.items():
                if name != self.only:
                    bound[name].copy_(x)
        return result


class Lost(NamedTuple):
    """The update by one call of a layer that is called several times, which the port drops."""

    call: int  # counted from 1
    calls: int

    def update(self, func: Callable[..., Any], args: Any, kwargs: Any, *_: Any) -> Any:
        """Call torch's function, and undo its update."""
        from jaxgrad.parity.prove.causes.mistakes.call import TorchCall  # imports torch

        bound = TorchCall(func, args, kwargs, "").bound
        before = {name: bound[name].clone() for name in _STATISTICS if bound.get(name) is not None}
        result = func(*args, **kwargs)
        for name, x in before.items():
            bound[name].copy_(x)
        return result


def explain(evidence: Evidence, name: str, compare: Compare) -> tuple[str, bool]:
    """Return the rule of update with which torch has JAX's statistics; whether it is confirmed.

    The rule is tried in all layers that torch calls, and then in the layer of the buffer alone.

    Args:
        evidence: All runs.
        name: The name of the first buffer that differs.
        compare: Compares what torch's runs change with what the port's change.
    """
    if not evidence.rerunnable:  # a dump has no module either
        return "", False
    layer = name.rpartition(".")[0]
    modules = dict(evidence.torch_side.module.named_modules())
    own = getattr(modules.get(layer), "momentum", None)
    if not isinstance(own, int | float) or isinstance(own, bool):
        return "", False
    if not _calls(evidence, layer):
        return "", False  # a layer of the user's own, whose calls are not those of torch's layers
    without, texts, every = compare(evidence.runs), [], True
    for layers in (None, layer):
        chosen = without if layers is None else [c for c in without if _layer(c) == layer]
        lost = _lost(_calls(evidence, layer).get(layer, ()))
        for rule in (*_rules(evidence, own, _only(chosen)), *lost):
            text = _text(evidence, rule, own, layer)
            if not evidence.may_search(text):
                every = False
                break
            runs = [_rerun(evidence, draw, rule, layers) for draw in range(len(evidence.draws))]
            after = {c.of: c for c in compare(runs)}
            if confirms(chosen, [after[c.of] for c in chosen if c.of in after]):
                texts.append(text)
        if texts:
            break
    return settled(texts, TESTED, every=every)


def _layer(compared: Compared) -> str:
    return compared.name.rpartition(".")[0]


def _only(rows: Sequence[Compared]) -> str:
    """Return "running_mean" or "running_var" if no buffer of the other name differs."""
    names = {name: [c for c in rows if _buffer(c) == name] for name in _STATISTICS}
    wrong = [name for name, of in names.items() if any(c.verdict == "fail" for c in of)]
    return wrong[0] if len(wrong) == 1 and all(names.values()) else ""


def _buffer(compared: Compared) -> str:
    return compared.name.rpartition(".")[2]


def _rules(evidence: Evidence, own: float, only: str) -> Iterator[Rule]:
    """Yield the rules that the port may follow: those with numbers of its program."""
    numbers = [x for x in literals(evidence.port.program.jaxpr) if 0 < x < 1]
    near = [own, 1 - own, *numbers, *(1 - x for x in numbers)]
    momenta: list[float] = []
    for x in (float(f"{x:.7g}") for x in near):
        if not any(abs(x - y) < _ALIKE for y in momenta):
            momenta.append(x)
    if only != "running_mean":
        yield Rule(momenta[0], biased=True)
    for momentum in momenta[1:]:
        yield Rule(momentum, only=only)
        if only != "running_mean":
            yield Rule(momentum, biased=True, only=only)


def _lost(calls: Sequence[int]) -> Iterator[Lost]:
    """Yield the calls of a layer whose update the port may drop."""
    if len(calls) > 1:
        yield from (Lost(k + 1, len(calls)) for k in range(min(len(calls), _LOST)))


def _calls(evidence: Evidence, layer: str | None, draw: int = 0) -> dict[str, list[int]]:
    """Return the numbers of the calls of each layer, or of one."""
    numbers: dict[str, list[int]] = {}
    for value in evidence.runs[draw].values:
        if value.op in _OPS and value.call_number >= 0 and layer in (None, value.module):
            of_layer = numbers.setdefault(value.module, [])
            if value.call_number not in of_layer:
                of_layer.append(value.call_number)
    return numbers


def _rerun(evidence: Evidence, draw: int, rule: Rule | Lost, layer: str | None) -> TorchRun:
    """Return torch's forward pass on a draw with a rule, in all layers or in one."""
    of_layers = _calls(evidence, layer, draw).values()
    if isinstance(rule, Lost):
        numbers = [calls[rule.call - 1] for calls in of_layers if len(calls) == rule.calls]
    else:
        numbers = [number for calls in of_layers for number in calls]
    changes = tuple(Change(number, rule.update) for number in sorted(numbers))
    return evidence.torch_side.run(evidence.draws[draw], forward=True, changes=changes)


def _text(evidence: Evidence, rule: Rule | Lost, own: float, layer: str) -> str:
    if isinstance(rule, Lost):
        calls = f"call {rule.call} of {rule.calls} of {layer}"
        return Told(
            f"JAX loses the new statistics of {calls}",
            f"torch keeps the new statistics of {calls}, JAX loses them",
        ).says(evidence.reference)
    parts: list[Difference] = []
    if abs(rule.momentum - own) >= _ALIKE:
        parts.append(_momentum(rule.momentum, own, rule.only))
    if rule.biased:
        count = _count(evidence, layer)
        parts.append(
            Told(
                f"the variance is divided by N{count}, torch's running variance by N - 1",
                f"the running variance is divided by N - 1, JAX's by N{count}",
            )
        )
    text = ", and ".join(part.says(evidence.reference) for part in parts)
    return text + (_remedy(evidence, layer) if evidence.reference == TORCH else "")


def _remedy(evidence: Evidence, layer: str) -> str:
    """Name the layer that a flax module can have instead, if there is one."""
    if not evidence.model.is_nnx:
        return ""
    from jaxgrad import nnx  # imports flax

    kind = type(dict(evidence.torch_side.module.named_modules())[layer]).__name__
    return f"; jaxgrad.nnx.{kind} does what torch does" if hasattr(nnx, kind) else ""


def _momentum(jax: float, torch: float, only: str) -> Difference:
    momentum = f"the momentum of {only}" if only else "the momentum"
    if abs(jax + torch - 1) < _ALIKE:
        return Mutual(f"{momentum} is inverted: torch uses {torch:g}, JAX uses {jax:g}")
    part = "flax and optax count the part that stays"
    return Told(
        f"{momentum} is {jax:.6g}, torch uses {torch:g} ({part}: {1 - torch:g} is torch's "
        f"{torch:g})",
        f"{momentum} is {torch:g}, JAX uses {jax:.6g} ({part}: {1 - jax:.6g} is torch's {jax:.6g})",
    )


def _count(evidence: Evidence, layer: str) -> str:
    """Return " = 7" for the number of values of each channel in the first call of a layer."""
    calls = (v for v in evidence.runs[0].values if v.op in _OPS and v.module == layer)
    shape = next((v.shape for v in calls if len(v.shape) > 1), None)
    return "" if shape is None else f" = {math.prod(shape) // shape[1]}"

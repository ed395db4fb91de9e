"""Explain wrong gradients by a custom `torch.autograd.Function` that the port has not taken over.

The port then has the derivative of its forward pass. torch is rerun without the `backward` of the
Function, and its gradients should then be JAX's.
"""

from __future__ import annotations

from jaxgrad.parity.prove import wording
from jaxgrad.parity.prove.causes.case import Case, Explanation
from jaxgrad.parity.prove.record.torch_side.values import Change


def lost(case: Case) -> Explanation | None:
    """Rerun torch with the plain derivative of its custom Functions, one or all of them."""
    used = {v.function: v for v in case.evidence.runs[case.draw].values if v.function}
    if not used:
        return None
    groups = [(name,) for name in used] + [tuple(used)] * (len(used) > 1)

    def without(group: tuple[str, ...]) -> tuple[Change, ...]:
        return tuple(map(Change.without_backward, group))

    best = case.best_in_torch((group, without(group)) for group in groups)
    if best is None:
        return None
    group, fixed = best
    short = [name.rpartition(".")[2] for name in group]
    lines = tuple(dict.fromkeys(used[name].rule for name in group if used[name].rule))
    of, at = " and ".join(short), f" ({' and '.join(lines)})" if lines else ""
    has = "has a backward of its own" if len(group) == 1 else "have backwards of their own"
    own, jaxs = f"{of} {has}{at}", "JAX has the derivative of the forward pass"
    difference = wording.Rerun(
        wording.Told(f"torch's {own}, {jaxs}", f"{own}, {jaxs}"),
        f"rerunning torch with it, {case.names(fixed)}",
        f"; write {of} with jaxgrad.from_function",
        "; leave the Function out",
    )
    text = difference.says(case.evidence.reference)
    return Explanation(text, fixed, fixed == case.wrong, changes=without(group), lines=lines)

"""Name functions that would have one name by what differs: their class, or where their module is.

Two methods `step` of different classes are `cell_step` and `decoder_step`. Two copies of the method
of one class are named after the attributes that hold their modules, as `encoder_block`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from torch import nn

from jaxgrad.parity.port.finish.shared_names import shared_name
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.naming import holder, snake
from jaxgrad.parity.port.source.port_names import RESERVED
from jaxgrad.parity.port.source.written import Written


def with_distinct_names(functions: Sequence[Written], module: nn.Module) -> list[Written]:
    """Return the functions under names without numbers where that is possible.

    Args:
        functions: The functions; the last one is the entry.
        module: The module that is ported.
    """
    groups: dict[str, list[Written]] = defaultdict(list)
    taken = set(RESERVED)
    for written in functions:
        written.base = shared_name(written, module)
        if written.base:
            groups[written.base].append(written)
        else:
            taken.add(written.name)
    renamed: dict[str, str] = {}
    order = sorted(groups.items(), key=lambda item: functions[-1] not in item[1])
    for base, group in order:
        for written, name in zip(group, _names(base, group, functions[-1], module), strict=True):
            renamed[written.name] = syntax.unique(name, taken)
            taken.add(renamed[written.name])
    for written in functions:
        syntax.rename_written(written.node, renamed)
        written.name = renamed.get(written.name, written.name)
    return list(functions)


def _names(base: str, group: list[Written], entry: Written, module: nn.Module) -> list[str]:
    """Return the names of functions that would have the same one."""
    names = dict.fromkeys(group, base)
    copies: dict[tuple[object, str], list[Written]] = defaultdict(list)
    for written in group:
        kind = "" if written is entry else _kind(written, module)
        copies[written.function.__code__, kind].append(written)
    if len(copies) > 1:
        for (_, kind), same in copies.items():
            for written in same:
                names[written] = f"{kind}_{base}" if kind else base
    for same in copies.values():
        if len(same) > 1:
            labels = _labels(same, entry)
            main = next((w for w, x in zip(same, labels, strict=True) if not x), None)
            parts = [
                "" if main is None or x.isidentifier() else _structure(w, main, module)
                for w, x in zip(same, labels, strict=True)
            ]
            for written, label, part in zip(same, labels, parts, strict=True):
                only = part if part and parts.count(part) == 1 else label
                names[written] = _joined(only, names[written])
    return [names[w] for w in group]


def _kind(written: Written, module: nn.Module) -> str:
    """Return the class of a method, or the class that holds a sequence."""
    if written.owner is None:
        return ""
    if written.function.__name__ != "forward":
        return snake(written.owner.__name__)
    if snake(written.owner.__name__) == written.base:
        return ""
    found = next((x for path in sorted(written.module_paths) if (x := holder(path, module))), None)
    return "" if found is None else snake(type(found[0]).__name__)


def _labels(same: list[Written], entry: Written) -> list[str]:
    """Return for each copy the part of its modules' paths that no other copy has."""
    paths = [[p.split(".")[::-1] for p in w.module_paths] for w in same]
    labels = [_label(n, paths) for n in range(len(same))]
    if not all(label.isidentifier() for label in labels):
        most = max(range(len(same)), key=lambda n: (same[n] is entry, len(same[n].module_paths)))
        labels[most] = ""  # the others are exceptions
    return labels


def _structure(written: Written, base: Written, module: nn.Module) -> str:
    """Return what a copy has more or less than another one: `without_shortcut` or `short`."""
    sides = [[module.get_submodule(path) for path in w.module_paths] for w in (written, base)]
    own, other = ([{n for n, x in m.named_children() if any(x.state_dict())} for m in side]
                  for side in sides)  # fmt: skip
    more = set.intersection(*own) - set.union(*other)
    less = set.intersection(*other) - set.union(*own)
    found = [f"with_{x}" for x in more] or [f"without_{x}" for x in less]
    if len(found) == 1 and found[0].isidentifier() and not found[0][-1].isdigit():
        return found[0]
    sizes = [{sum(1 for _ in m.modules()) for m in side} for side in sides]
    if max(sizes[0]) < min(sizes[1]):
        return "short"
    return "long" if min(sizes[0]) > max(sizes[1]) else ""


def _label(number: int, paths: list[list[list[str]]]) -> str:
    own = paths[number]
    others = [p for n, group in enumerate(paths) if n != number for p in group]
    for level in range(min((len(p) for p in own), default=0)):
        parts = {p[level] for p in own}
        elsewhere = {p[level] for p in others if len(p) > level}
        if len(parts) == 1 and not parts & elsewhere:
            return parts.pop()
    return ""


def _joined(label: str, base: str) -> str:
    """Return `encoder_block`, `down1` for the module `down1` of a class `Down`, and `block_1`."""
    if not label:
        return base
    if not label.isidentifier():
        return f"{base}_{label}"
    if label.startswith(("with_", "without_")):
        return f"{base}_{label}"
    label = snake(label)
    return label if label.startswith(base) or base in label.split("_") else f"{label}_{base}"

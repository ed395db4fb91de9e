"""Run torch's program line by line, its backward pass node by node, and read every state.

The state after a step is read when the next one begins: only then has torch freed the values of
the node that just ran. The recorder keeps neither the program's tensors nor its nodes, so that each
node lives as long as it does in a plain run of the script.
"""

import dataclasses
import weakref
from collections.abc import Iterator
from typing import Any

import torch

from parity_tests.site.stepper.frame import Frame, numbers
from parity_tests.site.stepper.program import Line, SteppedProgram


KEPT = {"_saved_self": "self", "_saved_mat2": "mat2", "_saved_result": "result"}
FREED = "Trying to backward through the graph a second time"
CHANGED = "modified by an inplace operation"


def run(program: SteppedProgram) -> list[Frame]:
    """Run the program until its end or its exception."""
    names: dict[str, Any] = {"torch": torch}
    tape = _Tape(program, names)
    tape.begin("start", "")
    for line in program.lines:
        if line.key in "12":
            tape.begin_backward(line.key)
        elif line.key not in tape.leaves:
            tape.begin(line.key, line.key)
        try:
            source = f"{line.within}\n    {line.text}" if line.within else line.text
            exec(source, names)
            tape.computed(line)
        except RuntimeError as error:
            return tape.end(str(error))
        if line.key in "12":
            tape.begin(f"{line.key}:return", line.key)
    return tape.end()


@dataclasses.dataclass(eq=False)
class _Mark:
    """The row of a node. Only the node keeps its mark, in `metadata`: both die together."""

    row: str


class _Tape:
    """Everything of a running program that can be read: tensors, nodes, gradients."""

    def __init__(self, program: SteppedProgram, names: dict[str, Any]) -> None:
        self.names = names  # the variables of the program
        self.leaves = ("x", *program.weights, *({"W1", "W2"} - {*program.weights}))
        self.frames: list[Frame] = []
        self.step: tuple[str, str] | None = None
        self.tensors: dict[str, torch.Tensor] = {}  # detached, with the memory of the program's
        self.requires: dict[str, bool] = {}
        self.nodes: dict[str, str] = {}  # the name of each node
        self.marks: dict[str, weakref.ref[_Mark]] = {}
        self.saved: dict[tuple[str, str], str] = {}  # the name of each saved tensor
        self.hooked = False
        self.ran: dict[str, str] = {}  # "ran" or "raised", by row
        self.gradients: dict[str, Any] = {}  # the gradients that flowed in this backward pass
        self.arrived: dict[str, Any] = {}
        self.backward = ""

    def begin(self, key: str, row: str) -> None:
        """Finish the step before, and begin another."""
        if self.step is not None:
            self.frames.append(Frame(*self.step, self.cells()))
        self.step = (key, row)

    def begin_backward(self, key: str) -> None:
        """Begin a backward pass: the gradients of an earlier one have gone."""
        self.begin(key, key)
        self.backward = key
        for kept in (self.gradients, self.arrived, self.ran):
            kept.clear()

    def end(self, error: str = "") -> list[Frame]:
        """Finish the last step, in which torch may have raised."""
        assert self.step is not None
        if error and ":" in self.step[0]:
            self.ran[self.step[1]] = "raised"
        self.frames.append(Frame(*self.step, self.cells(), error))
        return self.frames

    def computed(self, line: Line) -> None:
        """Note what a line computed, and listen to the node that it recorded."""
        if line.key == "hook":
            self.hooked = True
            self.names["h"].register_hook(self.after_hook)
        elif line.name:
            tensor = self.names[line.name]
            self.tensors[line.key] = tensor.detach()
            self.requires[line.key] = tensor.requires_grad
            if tensor.grad_fn is not None:
                self.mark(line.key, tensor.grad_fn)
                self.listen(line.key, tensor.grad_fn)

    def mark(self, row: str, node: Any) -> None:
        """Write into a node which row it has."""
        mark = _Mark(row)
        node.metadata["row"] = mark
        self.marks[row] = weakref.ref(mark)
        self.nodes[row] = node.name().rpartition("::")[2]

    def alive(self) -> dict[str, Any]:
        """Return the nodes that the program's variables hold, by row: these are all that live."""
        held = {row: node for node in self.held() if (row := _row(node))}
        living = {row for row, mark in self.marks.items() if mark() is not None}
        assert living == {*held}, (living, {*held})
        return held

    def held(self) -> Iterator[Any]:
        """Yield the nodes that lie behind a variable, some of them more than once."""
        tensors = (value for value in self.names.values() if isinstance(value, torch.Tensor))
        nodes = [tensor.grad_fn for tensor in tensors]
        while nodes:
            node = nodes.pop()
            if node is not None:
                yield node
                nodes += [other for other, _ in node.next_functions]

    def listen(self, row: str, node: Any) -> None:
        """Begin a step when a node runs, and when it adds to the `.grad` of a weight."""

        def before(gradients: tuple[Any, ...]) -> None:
            self.gradients[row] = gradients[0].clone()
            self.begin(f"{self.backward}:{row}", row)
            self.ran[row] = "ran"

        def after(inputs: tuple[Any, ...], _: tuple[Any, ...]) -> None:
            others = self.alive()[row].next_functions  # holding the node would keep it alive
            for (other, _), gradient in zip(others, inputs, strict=True):
                if gradient is not None:
                    self.flows(other, gradient.clone())

        node.register_prehook(before)
        node.register_hook(after)
        for other, _ in node.next_functions:
            if hasattr(other, "variable"):
                name = next(n for n in self.leaves if self.names[n] is other.variable)
                self.mark(name, other)
                other.register_prehook(lambda _, name=name: self.accumulates(name))

    def flows(self, node: Any, gradient: torch.Tensor) -> None:
        """Note the gradient that reaches a node, a weight or, before either, a hook."""
        row = _row(node)
        if row in self.leaves:
            self.arrived[row] = gradient
        else:
            self.gradients["hook" if self.hooked and row == "h" else row] = gradient

    def accumulates(self, name: str) -> None:
        self.begin(f"{self.backward}:{name}", name)
        del self.arrived[name]  # it becomes, or is added to, the `.grad`

    def after_hook(self, gradient: torch.Tensor) -> None:
        self.begin(f"{self.backward}:hook", "hook")
        self.gradients["h"] = gradient.clone()

    def cells(self) -> dict[str, Any]:
        """Read the state."""
        cells: dict[str, Any] = {}
        for row, tensor in self.tensors.items():
            cells[f"{row}.value"] = numbers(tensor)
            cells[f"{row}.requires"] = self.requires[row]
            if not tensor.is_inference() and tensor._version:
                cells[f"{row}.version"] = tensor._version
            if row in self.leaves:
                grad = self.names[row].grad
                cells[f"{row}.grad"] = None if grad is None else numbers(grad)
        alive = self.alive()
        for row, name in self.nodes.items():
            cells[f"{row}.node"] = name
            if row in alive:
                kept = [self.kept(row, alive[row], attribute) for attribute in KEPT]
                cells[f"{row}.kept"] = [entry for entry in kept if entry]
            else:
                cells[f"{row}.dead"] = True
                freed = [(key[1], saved) for key, saved in self.saved.items() if key[0] == row]
                cells[f"{row}.kept"] = [_freed(*each) for each in freed]
        for column, values in (("gradient", self.gradients), ("arrived", self.arrived)):
            cells |= {f"{row}.{column}": numbers(value) for row, value in values.items()}
        return cells | {f"{row}.ran": how for row, how in self.ran.items()}

    def kept(self, row: str, node: Any, name: str) -> dict[str, Any] | None:
        """Read a saved tensor; torch raises if it was freed or has changed."""
        try:
            tensor = getattr(node, name, None)
        except RuntimeError as error:
            if FREED in str(error):
                return _freed(name, self.saved[row, name])
            if CHANGED not in str(error):
                raise
            return {"name": self.saved[row, name], "as": KEPT[name], "state": "changed"}
        if tensor is None:
            return None
        rows = (r for r, t in self.tensors.items() if t.data_ptr() == tensor.data_ptr())
        self.saved[row, name] = next(rows)
        value = numbers(tensor)
        return {"name": self.saved[row, name], "as": KEPT[name], "state": "kept", "value": value}


def _row(node: Any) -> str:
    mark = node.metadata.get("row")
    return mark.row if mark else ""


def _freed(name: str, saved: str) -> dict[str, Any]:
    return {"name": saved, "as": KEPT[name], "state": "freed"}

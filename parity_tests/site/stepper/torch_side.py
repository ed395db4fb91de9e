"""Run torch's program line by line, its backward pass node by node, and read every state.

The state after a step is read when the next one begins: only then has torch freed the values of
the node that just ran.
"""

from typing import Any

import torch

from parity_tests.site.stepper.frame import Frame, numbers
from parity_tests.site.stepper.program import Line, SteppedProgram


KEPT = {"_saved_self": "self", "_saved_mat2": "mat2", "_saved_result": "result"}
FREED = "Trying to backward through the graph a second time"
CHANGED = "modified by an inplace operation"


def run(program: SteppedProgram) -> list[Frame]:
    """Run the program until its end or its exception."""
    tape = _Tape(program)
    names: dict[str, Any] = {"torch": torch}
    tape.begin("start", "")
    for line in program.lines:
        if line.key in "12":
            tape.begin_backward(line.key)
        elif line.key not in tape.leaves:
            tape.begin(line.key, line.key)
        try:
            source = f"{line.within}\n    {line.text}" if line.within else line.text
            exec(source, names)
            tape.computed(line, names)
        except RuntimeError as error:
            return tape.end(str(error))
        if line.key in "12":
            tape.begin(f"{line.key}:return", line.key)
    return tape.end()


class _Tape:
    """Everything of a running program that can be read: tensors, nodes, gradients."""

    def __init__(self, program: SteppedProgram) -> None:
        self.leaves = ("x", *program.weights, *({"W1", "W2"} - {*program.weights}))
        self.frames: list[Frame] = []
        self.step: tuple[str, str] | None = None
        self.tensors: dict[str, torch.Tensor] = {}
        self.nodes: dict[str, Any] = {}
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

    def computed(self, line: Line, names: dict[str, Any]) -> None:
        """Keep what a line computed, and listen to the node that it recorded."""
        if line.key == "hook":
            self.hooked = True
            names["h"].register_hook(self.after_hook)
        elif line.name:
            self.tensors[line.key] = names[line.name]
            node = names[line.name].grad_fn
            if node is not None:
                self.nodes[line.key] = node
                self.listen(line.key, node)

    def listen(self, row: str, node: Any) -> None:
        """Begin a step when a node runs, and when it adds to the `.grad` of a weight."""

        def before(gradients: tuple[Any, ...]) -> None:
            self.gradients[row] = gradients[0].clone()
            self.begin(f"{self.backward}:{row}", row)
            self.ran[row] = "ran"

        def after(inputs: tuple[Any, ...], _: tuple[Any, ...]) -> None:
            for (other, _), gradient in zip(node.next_functions, inputs, strict=True):
                if gradient is not None:
                    self.flows(other, gradient.clone())

        node.register_prehook(before)
        node.register_hook(after)
        for other, _ in node.next_functions:
            if hasattr(other, "variable"):
                name = next(n for n in self.leaves if self.tensors[n] is other.variable)
                self.nodes[name] = other
                other.register_prehook(lambda _, name=name: self.accumulates(name))

    def flows(self, node: Any, gradient: torch.Tensor) -> None:
        """Note the gradient that reaches a node, a weight or, before either, a hook."""
        row = next(row for row, other in self.nodes.items() if other is node)
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
            cells[f"{row}.requires"] = tensor.requires_grad
            if not tensor.is_inference() and tensor._version:
                cells[f"{row}.version"] = tensor._version
            if tensor.is_leaf and row in self.leaves:
                cells[f"{row}.grad"] = None if tensor.grad is None else numbers(tensor.grad)
        for row, node in self.nodes.items():
            cells[f"{row}.node"] = node.name().rpartition("::")[2]
            cells[f"{row}.kept"] = [k for name in KEPT if (k := self.kept(row, node, name))]
        for column, values in (("gradient", self.gradients), ("arrived", self.arrived)):
            cells |= {f"{row}.{column}": numbers(value) for row, value in values.items()}
        return cells | {f"{row}.ran": how for row, how in self.ran.items()}

    def kept(self, row: str, node: Any, name: str) -> dict[str, Any] | None:
        """Read a saved tensor; torch raises if it was freed or has changed."""
        try:
            tensor = getattr(node, name, None)
        except RuntimeError as error:
            state = "freed" if FREED in str(error) else "changed" if CHANGED in str(error) else ""
            if not state:
                raise
            return {"name": self.saved[row, name], "as": KEPT[name], "state": state}
        if tensor is None:
            return None
        rows = (r for r, t in self.tensors.items() if t.data_ptr() == tensor.data_ptr())
        self.saved[row, name] = next(rows)
        value = numbers(tensor)
        return {"name": self.saved[row, name], "as": KEPT[name], "state": "kept", "value": value}

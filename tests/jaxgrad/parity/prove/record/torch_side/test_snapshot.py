"""Everything that a forward pass can change beside the weights is put back."""

import collections
import functools
import random
from typing import Any

import numpy as np
import torch
from torch import nn

from jaxgrad.parity.prove.record.torch_side.snapshot import Snapshot


class Helper:
    """A plain object that a module keeps."""

    def __init__(self) -> None:
        self.count = 0
        self.names = ["a"]


class Slots:
    __slots__ = ("x",)


class Module(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.register_buffer("table", torch.ones(2))
        self.cache: dict[str, Any] = {"x": 1}
        self.list = [1, [2]]
        self.set = {1, 2}
        self.queue = collections.deque([1, 2])
        self.helper = Helper()
        self.nested = (Helper(), [Helper()])
        self.plain = torch.zeros(2)
        self.array = np.zeros(2)
        self.fixed = np.zeros(2)
        self.fixed.flags.writeable = False
        self.generator = torch.Generator().manual_seed(0)
        self.slots = Slots()
        self.kept = functools.partial(max, 1)
        self.child = nn.Linear(1, 1)


def test_attributes_and_containers_are_put_back():
    """The very same containers hold what they held, wherever they are."""
    module: Any = Module()
    held, inner = module.list, module.list[1]
    snapshot = Snapshot(module)
    module.count, module.cache["y"], module.cache["x"] = 3, 1, 2
    module.list = [5]
    held.append(3)
    inner[0] = 9
    module.set.add(3)
    module.queue.popleft()
    module.helper.count, module.helper.extra = 4, 1
    module.helper.names.clear()
    module.nested[0].count = module.nested[1][0].count = 7
    module.child.scale = 2.0
    snapshot.rewind()

    assert not hasattr(module, "count")
    assert module.cache == {"x": 1}
    assert module.list is held
    assert held == [1, [2]]
    assert module.set == {1, 2}
    assert list(module.queue) == [1, 2]
    assert vars(module.helper) == {"count": 0, "names": ["a"]}
    assert module.nested[0].count == module.nested[1][0].count == 0
    assert not hasattr(module.child, "scale")


def test_a_replaced_member_is_put_back():
    """An equal object is not the same one, and the order of a dict is put back too."""
    module: Any = Module()
    first, other = [1.0], [1.0]
    module.cache = {"a": first, "b": 2}
    module.list, module.set = [first], {"x"}
    snapshot = Snapshot(module)
    module.cache["a"] = other
    module.list[0] = other
    module.set.clear()
    module.set.add("y")
    snapshot.rewind()

    assert module.cache["a"] is first
    assert module.list[0] is first
    assert module.set == {"x"}
    del module.cache["a"]
    module.cache["a"] = first
    snapshot.rewind()
    assert list(module.cache) == ["a", "b"]


def test_a_container_that_did_not_change_is_not_touched():
    """A dict subclass may do more than store when it is cleared."""

    class Strict(dict):
        def clear(self) -> None:
            raise AssertionError

    module: Any = Module()
    module.strict = Strict(a=1)
    Snapshot(module).rewind()
    assert module.strict == {"a": 1}


def test_numbers_in_plain_arrays_are_put_back_and_weights_are_left():
    """Parameters and buffers are the prover's own to put back."""
    module: Any = Module()
    snapshot = Snapshot(module)
    for x in (module.plain, module.weight.data, module.table, module.array):
        x.__iadd__(1)
    snapshot.rewind()

    assert module.plain.tolist() == [0, 0]
    assert module.array.tolist() == [0, 0]
    assert module.weight.tolist() == [2, 2]
    assert module.table.tolist() == [2, 2]
    assert [x is module.plain for x in snapshot.tensors] == [True]


def test_a_tensor_that_was_resized_keeps_its_numbers():
    """A resized tensor is put back as an attribute, and its numbers stay."""
    module: Any = Module()
    snapshot = Snapshot(module)
    old = module.plain
    old.data = torch.ones(3)
    module.plain = torch.ones(5)
    snapshot.rewind()
    assert module.plain is old
    assert old.tolist() == [1, 1, 1]


def test_generators_are_restored_but_not_rewound():
    """A rewind between runs draws on; the restored module has the user's random numbers."""
    module: Any = Module()
    snapshot = Snapshot(module)

    def draw() -> tuple[float, ...]:
        drawn = torch.rand(1, generator=module.generator), torch.rand(1)
        return (*map(float, drawn), random.random(), float(np.random.rand()))  # noqa: NPY002

    first = draw()
    snapshot.rewind()
    assert not set(draw()) & set(first)
    snapshot.restore()
    assert draw() == first


def test_a_module_that_refers_to_itself_is_visited_once():
    """Cycles end."""
    module: Any = Module()
    module.cache["self"] = module.cache
    module.list.append(module)
    snapshot = Snapshot(module)
    module.list.append(1)
    snapshot.rewind()
    assert len(module.list) == 3


def test_functions_and_classes_are_left_alone():
    """Attributes of functions and classes are not part of the module's state."""

    function: Any = lambda: None  # noqa: E731  # it gets an attribute
    function.count = 0
    module: Any = Module()
    module.function, module.kind = function, Helper
    snapshot = Snapshot(module)
    function.count = 1
    snapshot.rewind()
    assert function.count == 1

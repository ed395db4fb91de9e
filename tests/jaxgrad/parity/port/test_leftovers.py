"""A port accounts for every change that a call of a torch module makes to its state.

Each change is returned by the port, listed in the docstring of its file, or refused with its line.
"""

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.proof.ported import Ported
from jaxgrad.parity.port.proof.proofs import proved
from jaxgrad.parity.port.proof.returned import require_returned
from jaxgrad.parity.port.source.refusals import PortError


X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
FILE = "test_leftovers.py"


class Counter:
    """An object that a module holds."""

    def __init__(self):
        self.count, self.total = 0, torch.zeros(2)


class Module(nn.Module):
    """A module with parameters, buffers and attributes of several types."""

    def __init__(self):
        super().__init__()
        self.fc, self.norm = nn.Linear(3, 2), nn.BatchNorm1d(2)
        self.target = nn.Linear(3, 2).requires_grad_(False)
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("zero", torch.zeros(()))
        self.register_buffer("count", torch.tensor(0))
        self.register_buffer("ready", torch.tensor(False))
        self.register_buffer("phase", torch.ones(2, dtype=torch.complex64))
        self.register_buffer("unsaved", torch.zeros(2), persistent=False)
        self.plain, self.number, self.history, self.cache = torch.zeros(2), 1, [], {}
        self.array, self.tensors, self.object = np.zeros(2), [torch.zeros(2)], Counter()


def module(forward: Callable[..., Any]) -> nn.Module:
    torch.manual_seed(0)
    return type("Kind", (Module,), {"forward": forward})()


def line_of(forward: Callable[..., Any], offset: int) -> str:
    return f"{FILE}:{forward.__code__.co_firstlineno + offset}"


# Returned: the new value is in the params that the port returns.


def a_float_buffer(self, x):
    y = self.fc(x)
    self.mean.lerp_(y.detach().mean(0), 0.1)
    return y


def a_float_buffer_without_dimensions(self, x):
    y = self.fc(x)
    self.zero += 1
    return y


def an_integer_buffer(self, x):
    y = self.fc(x)
    self.count += 2
    return y


def a_boolean_buffer(self, x):
    y = self.fc(x)
    self.ready.fill_(True)
    return y


def a_complex_buffer(self, x):
    y = self.fc(x)
    self.phase.mul_(1j)
    return y


def a_buffer_that_is_not_saved(self, x):
    y = self.fc(x)
    self.unsaved.copy_(y.detach().sum(0))
    return y


def an_element_of_a_buffer(self, x):
    y = self.fc(x)
    self.mean[0] = 3.0
    return y


def a_buffer_through_its_data(self, x):
    y = self.fc(x)
    self.mean.data.add_(1)
    return y


def a_buffer_in_a_helper(self, x):
    y = self.fc(x)
    _add(self.mean, y)
    return y


def _add(buffer, y):
    buffer.add_(y.detach().sum(0))


def a_buffer_in_a_loop(self, x):
    y = self.fc(x)
    for buffer in (self.mean, self.zero):
        buffer.add_(1)
    return y


def a_parameter_that_is_not_trained(self, x):
    y = self.fc(x) - self.target(x)
    with torch.no_grad():
        for old, new in zip(self.target.parameters(), self.fc.parameters(), strict=True):
            old.mul_(0.9).add_(new, alpha=0.1)
    return y


def a_buffer_in_one_arm(self, x):
    y = self.fc(x)
    if torch.isfinite(y).all():
        self.zero += 1
    return y


def a_buffer_in_the_arm_that_is_not_taken(self, x):
    y = self.fc(x)
    if not torch.isfinite(y).all():
        self.count += 1
    return y


def a_layer_in_one_arm(self, x):
    y = self.fc(x)
    if y.mean() > -100:
        y = self.norm(y)
    return y


def a_statistic_of_train_mode(self, x):
    return self.norm(self.fc(x))


def a_plain_tensor_in_place(self, x):
    y = self.fc(x)
    self.plain.add_(1)
    return y


# The line of the port whose removal loses the value.
RETURNED = {
    a_float_buffer: 'p["mean"] = F.lerp(p["mean"], lax.stop_gradient(y).mean(axis=0), 0.1)',
    a_float_buffer_without_dimensions: 'p["zero"] = p["zero"] + 1',
    an_integer_buffer: 'p["count"] = p["count"] + 2',
    a_boolean_buffer: 'p["ready"] = jnp.full_like(p["ready"], True)',
    a_complex_buffer: 'p["phase"] = p["phase"] * 1j',
    a_buffer_that_is_not_saved: 'p["unsaved"] = lax.stop_gradient(y).sum(axis=0)',
    an_element_of_a_buffer: 'p["mean"] = p["mean"].at[0].set(3.0)',
    a_buffer_through_its_data: 'p["mean"] = p["mean"] + 1',
    a_buffer_in_a_helper: 'p["mean"] = p["mean"] + lax.stop_gradient(y).sum(axis=0)',
    a_buffer_in_a_loop: 'p["zero"] = buffer',
    a_parameter_that_is_not_trained: 'p["target"] = lax.stop_gradient(target)',
    a_buffer_in_one_arm: (
        'p["zero"] = lax.cond(F.all(jnp.isfinite(y)), lambda: p["zero"] + 1, lambda: p["zero"])'
    ),
    a_layer_in_one_arm: 'y, p["norm"] = lax.cond(',
    a_statistic_of_train_mode: 'x, p["running_mean"], p["running_var"] = F.batch_norm(',
    a_plain_tensor_in_place: 'p["plain"] = p["plain"] + 1',
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("forward", RETURNED, ids=lambda x: x.__name__)
def test_what_the_port_returns_is_proved(forward):
    ported = port(module(forward), (X,))

    assert RETURNED[forward] in ported.source, ported.source
    assert ported.has_state
    assert {report.verdict for report in ported.reports.values()} == {"pass"}


# The line that replaces it in a port that loses the value; by default it is only removed.
INSTEAD = {
    a_layer_in_one_arm: "y, _ = lax.cond(",
    a_statistic_of_train_mode: 'x, _, p["running_var"] = F.batch_norm(',
}
UNSEEN = (a_plain_tensor_in_place,)  # by `prove`, which does not know the attribute of the leaf


def without(ported: Ported, forward: Callable[..., Any]) -> Ported:
    """Return a port that drops the value that it should return."""
    line = RETURNED[forward]
    assert line in ported.source, ported.source
    source = ported.source.replace(line, INSTEAD.get(forward, "pass"))
    return dataclasses.replace(ported, source=source)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("forward", RETURNED, ids=lambda x: x.__name__)
def test_a_port_that_leaves_out_what_it_returns_is_refused(forward):
    """Running torch shows what changes, so a lost change is found without a proof."""
    broken = without(port(module(forward), (X,), prove=False), forward)

    with pytest.raises(PortError, match="and the port does not return it"):
        require_returned(broken, (X,))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "forward", [x for x in RETURNED if x not in UNSEEN], ids=lambda x: x.__name__
)
def test_a_port_that_leaves_out_what_it_returns_is_not_proved(forward):
    torch_module = module(forward)
    broken = without(port(torch_module, (X,), prove=False), forward)

    with pytest.raises(PortError, match="is not proved"):
        proved(broken, torch_module, (X,), [], 0)


def test_what_only_the_other_arm_changes_is_written():
    """A change in an arm that the example does not take is written into the port."""
    torch_module = module(a_buffer_in_the_arm_that_is_not_taken)
    ported = port(torch_module, (X,))
    params = ported.params(torch_module.state_dict())

    _, same = ported.fn(params, X)
    _, counted = ported.fn(params, np.full_like(X, np.nan))

    assert (int(same["count"]), int(counted["count"])) == (0, 1), ported.source


def test_a_port_that_loses_a_change_is_refused_before_its_proof():
    """`prove=False` writes no port that drops what torch changes."""

    class Lost(Module):
        def forward(self, x):
            y = self.fc(x)
            buffers: Any = [self.mean, self.zero]
            buffers[0].add_(1)
            return y

    with pytest.raises(PortError) as caught:
        port(Lost(), (X,), prove=False)

    line = f"{FILE}:{Lost.forward.__code__.co_firstlineno + 3}"
    assert str(caught.value) == (
        f"{line} `buffers[0].add_(1)`: torch changes 'mean' while the module runs in train mode, "
        "and the port does not return it; change it by a statement of its own, such as "
        "`self.mean.copy_(new)`"
    )


# Refused with the line that changes it.


def a_trained_parameter(self, x):
    with torch.no_grad():
        self.fc.weight.mul_(0.5)
    return self.fc(x)


def the_data_of_a_parameter(self, x):
    y = self.fc(x)
    self.target.weight.data = self.fc.weight.data
    return y


def a_buffer_that_is_registered(self, x):
    y = self.fc(x)
    self.register_buffer("new", torch.ones(2))
    return y


def a_buffer_in_a_dict(self, x):
    y = self.fc(x)
    buffers = {"mean": self.mean}
    buffers["mean"].add_(1)
    return y


def a_view_of_a_buffer(self, x):
    y = self.fc(x)
    column = self.mean.view(2, 1)
    column.add_(1)
    return y


def whether_a_parameter_is_trained(self, x):
    self.fc.weight.requires_grad_(False)
    return self.fc(x)


def a_number_that_counts(self, x):
    y = self.fc(x)
    self.number += 1
    return y


def a_list_of_numbers(self, x):
    y = self.fc(x)
    self.history.append(1)
    return y


def a_list_of_tensors(self, x):
    y = self.fc(x)
    self.history.append(y)
    return y


def a_tensor_in_a_list(self, x):
    y = self.fc(x)
    self.tensors[0].add_(1)
    return y


def a_dict(self, x):
    y = self.fc(x)
    self.cache["last"] = y
    return y


def an_array_of_numpy(self, x):
    y = self.fc(x)
    self.array[0] += 1
    return y


def a_number_of_an_object(self, x):
    y = self.fc(x)
    self.object.count += 1
    return y


def a_tensor_of_an_object(self, x):
    y = self.fc(x)
    self.object.total.add_(1)
    return y


def an_attribute_by_its_dict(self, x):
    y = self.fc(x)
    self.__dict__["last"] = 3
    return y


def a_tensor_that_the_next_call_adds_to(self, x):
    y = self.fc(x)
    if not hasattr(self, "state"):
        self.state = torch.zeros_like(y)
    self.state = self.state + y
    return self.state


def an_attribute_in_one_arm(self, x):
    y = self.fc(x)
    if y.sum() > 0:
        self.last = y
    else:
        self.last = y * 2
    return y + self.last


def a_gradient(self, x):
    y = self.fc(x)
    y.sum().backward(retain_graph=True)
    return y


def a_python_number_of_a_tensor(self, x):
    y = self.fc(x)
    return y, y.sum().item()


def a_function(self, x):
    y = self.fc(x)
    return y, lambda z: z * y


RUNS = "while the module runs"
REFUSED = {
    a_trained_parameter: (2, f"the parameter 'fc.weight' is changed {RUNS}"),
    the_data_of_a_parameter: (2, "`data` of a tensor is set"),
    a_buffer_that_is_registered: (2, f"torch changes 'new' {RUNS} in train mode"),
    a_buffer_in_a_dict: (3, f"torch changes 'mean' {RUNS} in train mode"),
    a_view_of_a_buffer: (3, f"torch changes 'mean' {RUNS} in train mode"),
    whether_a_parameter_is_trained: (1, f"`requires_grad` of 'fc.weight' is changed {RUNS}"),
    a_number_that_counts: (2, "`number` is read and then set on a module while it runs"),
    a_list_of_numbers: (2, f"`history` is changed {RUNS}"),
    a_list_of_tensors: (2, f"`history` is changed {RUNS}"),
    a_tensor_in_a_list: (2, f"`tensors` is changed {RUNS}"),
    a_dict: (2, f"`cache` is changed {RUNS}"),
    an_array_of_numpy: (2, f"`array` is changed {RUNS}"),
    a_number_of_an_object: (2, f"`count` is read and then set {RUNS}"),
    a_tensor_of_an_object: (2, f"`object.total` is changed {RUNS}"),
    an_attribute_by_its_dict: (2, f"`last` is changed {RUNS}"),
    a_tensor_that_the_next_call_adds_to: (3, "the next call gives another result"),
    an_attribute_in_one_arm: (2, "an attribute is set in one arm of a branch"),
    a_gradient: (2, "backward"),
    a_python_number_of_a_tensor: (2, "item() reads the value of a tensor"),
    a_function: (2, "the module returns a function"),
}


@pytest.mark.parametrize("forward", REFUSED, ids=lambda x: x.__name__)
def test_what_the_port_cannot_return_is_refused_with_its_line(forward):
    offset, reason = REFUSED[forward]

    with pytest.raises(PortError) as caught:
        port(module(forward), (X,), prove=False)

    assert str(caught.value).startswith(line_of(forward, offset)), caught.value
    assert reason in str(caught.value)


# Left out, and listed in the docstring of the file with its line.


def a_tensor_for_a_picture(self, x):
    y = self.fc(x)
    self.plain = y.detach()
    return y


def a_number_that_is_stored(self, x):
    y = self.fc(x)
    self.number = 7
    return y


def a_number_that_an_object_stores(self, x):
    y = self.fc(x)
    self.object.count = 7
    return y


def the_mode_of_a_layer(self, x):
    self.norm.eval()
    return self.norm(self.fc(x))


def an_argument(self, x):
    x.mul_(2)
    return self.fc(x)


def a_device(self, x):
    y = self.fc(x)
    return y, y.device


LISTED = {
    a_tensor_for_a_picture: (2, "`plain` of Kind"),
    a_number_that_is_stored: (2, "`number` of Kind"),
    a_number_that_an_object_stores: (2, "`count` of Counter"),
    the_mode_of_a_layer: (1, "`training` of norm"),
    an_argument: (1, "`x`, which is changed in place"),
    a_device: (2, "the output[1]: device"),
}


@pytest.mark.parametrize("forward", LISTED, ids=lambda x: x.__name__)
def test_what_the_port_leaves_out_is_listed_with_its_line(forward):
    offset, text = LISTED[forward]
    source = port(module(forward), (X,), prove=False).source

    assert f"- {text} ({line_of(forward, offset)})" in source.splitlines(), source


# Returned values.

Pair = collections.namedtuple("Pair", "y total")


@dataclasses.dataclass
class Result:
    y: torch.Tensor
    total: torch.Tensor


def a_tuple(self, x):
    y = self.fc(x)
    return y, y.sum(), None, 3


def a_list(self, x):
    y = self.fc(x)
    return [y, y * 2]


def a_mapping(self, x):
    y = self.fc(x)
    return {"y": y, "parts": [y.sum(), {"first": y[0]}]}


def a_named_tuple(self, x):
    y = self.fc(x)
    return Pair(y, y.sum())


def a_dataclass(self, x):
    y = self.fc(x)
    return Result(y, total=y.sum())


def a_distribution(self, x):
    y = self.fc(x)
    return torch.distributions.Normal(y, y.exp())


def integers_and_booleans(self, x):
    y = self.fc(x)
    return y, y.argmax(), y > 0


def constants_without_dimensions(self, x):
    y = self.fc(x)
    return y, torch.tensor(3.0), torch.tensor(2), torch.ones(2).sum()


RESULTS = {
    a_tuple: "return y, y.sum(), None, 3",
    a_list: "return [y, y * 2]",
    a_mapping: 'return {"y": y, "parts": [y.sum(), {"first": y[0]}]}',
    a_named_tuple: 'return {"y": y, "total": y.sum()}',
    a_dataclass: 'return {"y": y, "total": y.sum()}',
    a_distribution: 'return {"loc": loc, "scale": scale}',
    integers_and_booleans: "return y, y.argmax(), y > 0",
    constants_without_dimensions: (
        'return F.linear(x, **p["fc"]), jnp.array(3.0), jnp.array(2), jnp.ones((2,)).sum()'
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("forward", RESULTS, ids=lambda x: x.__name__)
def test_what_a_module_returns_is_returned_and_proved(forward):
    ported = port(module(forward), (X,))

    assert ported.source.rstrip().endswith(RESULTS[forward]), ported.source
    assert ported.report is not None
    assert ported.report.verdict == "pass"


def test_an_array_without_dimensions_stays_an_array():
    """A 0-d array keeps its type and dtype in the params and among the outputs."""
    torch_module = module(constants_without_dimensions)
    ported = port(torch_module, (X,), prove=False)

    _, *constants = ported.fn(ported.params(torch_module.state_dict()), X)

    assert all(isinstance(x, jax.Array) and x.ndim == 0 for x in constants)
    counted = module(a_float_buffer_without_dimensions)
    params = port(counted, (X,), prove=False).params(counted.state_dict())
    assert isinstance(params["zero"], np.ndarray)
    assert params["zero"].shape == ()

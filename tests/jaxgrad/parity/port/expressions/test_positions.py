"""A number that is read from a buffer stays an array where it begins slices of a fixed length."""

import numpy as np
import pytest
import torch
import torch.nn.functional as tf
from torch import nn

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import proves, source


X = np.random.default_rng(0).standard_normal((2, 4)).astype(np.float32)


class Queue(nn.Module):
    """A queue of the last keys, and the place of the next one."""

    queue: torch.Tensor
    ptr: torch.Tensor

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(4, 3)
        self.register_buffer("queue", torch.randn(3, 8))
        self.register_buffer("ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def enqueue(self, keys):
        n, ptr = keys.shape[0], int(self.ptr)
        self.queue[:, ptr : ptr + n] = keys.T
        self.ptr[0] = (ptr + n) % self.queue.shape[1]

    def forward(self, x):
        keys = self.linear(x)
        out = keys @ self.queue.clone().detach()
        self.enqueue(tf.normalize(keys))
        return out


def test_the_pointer_of_a_queue_is_traced():
    text = source(Queue(), X)
    assert 'lax.dynamic_update_slice_in_dim(p["queue"], keys.T, ptr, axis=1)' in text
    assert "- ptr + n <= self.queue.shape[1] (test_positions.py:" in text
    assert proves(Queue(), X)


def test_the_pointer_of_a_class_is_traced():
    ported = port(Queue(), (X,), style="nnx")
    assert "lax.dynamic_update_slice_in_dim(module.queue[...], " in ported.source


class Reading(Queue):
    """The oldest keys are read, from a place that has a name for its end."""

    def __init__(self):
        super().__init__()
        self.queue = self.queue.T.contiguous()

    def forward(self, x):
        keys = self.linear(x)
        start = self.ptr.item()
        end = start + len(x)
        old = self.queue[start:end]
        out = keys * old.clone()
        self.queue[start:end, :] = keys.detach()
        self.ptr.copy_((self.ptr + 2) % 8)
        return out


def test_a_slice_that_is_read_begins_at_the_pointer():
    text = source(Reading(), X)
    assert 'lax.dynamic_slice_in_dim(p["queue"], start, x.shape[0], axis=0)' in text
    assert proves(Reading(), X)


class Counted(Queue):
    """The number is computed with and stored, and begins no slice."""

    def forward(self, x):
        step = int(self.ptr[0])
        step += 1
        self.ptr[0] = step
        return self.linear(x)


def test_a_number_that_is_stored_again_is_traced():
    assert proves(Counted(), X)


class Branched(Queue):
    def forward(self, x):
        ptr = int(self.ptr)
        out = self.linear(x)
        self.ptr[0] = ptr + 1
        return out if ptr < 3 else -out


class Open(Queue):
    def forward(self, x):
        ptr = int(self.ptr)
        self.ptr[0] = ptr + 1
        return self.linear(x) @ self.queue[:, ptr:].sum(1)


class Sized(Queue):
    def forward(self, x):
        ptr = int(self.ptr)
        self.ptr[0] = ptr + 1
        return self.linear(x) @ torch.ones(3, ptr + 1)


class Moved(Queue):
    """The end is that of another start."""

    def forward(self, x):
        ptr = int(self.ptr)
        end = ptr + 2
        ptr = ptr + 1
        self.ptr[0] = ptr
        return self.linear(x) @ self.queue[:, ptr:end].sum(1)


@pytest.mark.parametrize("kind", [Branched, Open, Sized, Moved])
def test_a_number_whose_value_is_needed_is_refused(kind):
    with pytest.raises(PortError, match=r"int\(\) of a tensor: its value is not known"):
        port(kind(), (X,), prove=False)


class Sliced(Queue):
    def forward(self, x):
        ptr = int(self.ptr)
        scales = [1.0, 2.0, 3.0]
        self.ptr[0] = ptr + 1
        return self.linear(x) * sum(scales[ptr : ptr + 1])


def test_a_slice_of_a_list_that_begins_at_the_pointer_is_refused():
    """The list has other elements in the next call."""
    with pytest.raises(PortError, match="a slice that begins at a tensor"):
        port(Sliced(), (X,), prove=False)


class Spread(Queue):
    def enqueue(self, keys):
        ptr = int(self.ptr)
        self.queue[:, ptr : ptr + 2] = 0.5
        self.ptr[0] = ptr + 1


def test_a_value_that_is_expanded_to_the_slice_is_refused():
    """torch would write a part of a slice that does not fit, and JAX moves its start."""
    with pytest.raises(PortError, match="gets a value of another shape or dtype"):
        port(Spread(), (X,), prove=False)

"""The figure of checkpointing counts the bytes that both frameworks keep."""

import torch
from torch.autograd.graph import saved_tensors_hooks

from parity_tests.figures import checkpoint_depth
from tests.parity_tests.figures.reading import words


def test_the_bytes_of_plain_are_those_of_a_fresh_count():
    """Without checkpoints, torch packs what the first row shows; JAX keeps the same."""
    kept = checkpoint_depth.Kept(checkpoint_depth._in_torch(0), checkpoint_depth._in_jax(0))
    depth, width, batch = (getattr(checkpoint_depth, n) for n in ("DEPTH", "WIDTH", "BATCH"))
    weights = [torch.ones(width, width, requires_grad=True) for _ in range(depth)]
    h = x = torch.ones(batch, width)
    packed = {}

    def pack(tensor):
        packed[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        for w in weights:
            h = torch.sin(h @ w)
    known = {tensor.untyped_storage().data_ptr() for tensor in (x, *weights)}
    fresh = sum(t.untyped_storage().nbytes() for at, t in packed.items() if at not in known)

    assert sum(kept.torch) == fresh
    assert kept.torch == kept.jax


def test_a_longer_segment_keeps_less():
    """Each way keeps less than the one above it, and nothing is kept by the last."""
    record = checkpoint_depth.record()
    sums = [sum(kept.torch) for kept in record.values()]

    assert sums == sorted(sums, reverse=True) and len(set(sums)) == 4 and sums[-1] == 0
    assert {f"{total:,}" for total in sums} <= set(words(checkpoint_depth.draw(record)))

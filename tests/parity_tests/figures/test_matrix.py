"""The matrices show None, zero or a number as a fresh run of torch gives them."""

import torch

from parity_tests.figures import matrix
from parity_tests.figures.run import tensors
from tests.parity_tests.figures.reading import words
from torch_ref import grad_modes, none_or_zero


def test_the_ways_to_use_a_parameter_are_those_of_torch():
    """torch's column, and jaxgrad's, are those of a plain run; `jax.grad` has zeros for None."""
    fresh = none_or_zero.none_or_zero(**tensors(matrix.LOST))

    for (_, cells), name in zip(matrix.record_lost().rows, matrix.WAYS, strict=True):
        of_torch, of_jaxgrad, of_jax = cells
        expected = None if fresh[name] is None else fresh[name].norm().item()
        assert (of_torch is None) == (expected is None) == (of_jaxgrad is None)
        assert abs((of_torch or 0) - (expected or 0)) < 1e-12
        assert of_jax == (of_jaxgrad or 0)


def test_the_ways_to_stop_are_those_of_torch():
    """Each way to stop L1 leaves None, zero or a number, in both frameworks alike."""
    torch.set_default_dtype(torch.float64)
    try:
        fresh = grad_modes.recorded(**tensors(matrix.STOPPED))
    finally:
        torch.set_default_dtype(torch.float32)

    for (_, cells), way in zip(matrix.record_stopped().rows, matrix.STOPS, strict=True):
        grads = fresh[way]["grads"]["l1"].values()
        assert (cells[0] is None) == all(grad is None for grad in grads)
        assert (cells[0] == 0) == all(grad is not None and not grad.any() for grad in grads)
        assert [round(v, 9) if v else v for v in cells[:2]] == [
            round(v, 9) if v else v for v in cells[2:]
        ]


def test_none_and_zero_look_different():
    """A zero in the place of None changes the frame and the word."""
    lost = matrix.record_lost()
    zeros = tuple((words_, tuple(v or 0.0 for v in cells)) for words_, cells in lost.rows)

    assert words(matrix.draw(lost)).count("None") == 8 + 1  # and the legend
    assert words(matrix.draw(lost._replace(rows=zeros))).count("None") == 1

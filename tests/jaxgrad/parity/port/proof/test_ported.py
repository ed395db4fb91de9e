"""What a port prints, which is read before its source."""

from typing import Any

import numpy as np
from torch import nn

import jaxgrad


X = np.ones((2, 4), np.float32)


class Halves(nn.Module):
    """Its branch depends on a size, and its dropout on the mode."""

    def __init__(self):
        super().__init__()
        self.fc, self.drop = nn.Linear(4, 4), nn.Dropout(0.5)

    def forward(self, x):
        if x.shape[1] > 2:
            return self.drop(self.fc(x))
        raise ValueError("too few")


def test_a_port_prints_how_it_is_called_and_what_its_proof_says():
    ported = jaxgrad.port(Halves(), (X,))
    assert str(ported).splitlines() == [
        "JAX port of Halves",
        "  call     halves(params, ...)",
        "  proof    pass in train mode, pass in eval mode",
        "  assumes  x.shape[1] > 2",
        f"  source   {len(ported.source.splitlines())} lines, see .source and .write()",
    ]


def test_a_port_to_flax_prints_its_class_and_that_it_has_no_proof():
    ported = jaxgrad.port(nn.Sequential(nn.Linear(4, 4)), (X,), style="nnx", prove=False)
    assert "call     Sequential(rngs=nnx.Rngs(0))" in str(ported)
    assert "proof    none, because of prove=False" in str(ported)
    assert "assumes" not in str(ported) and "by hand" not in str(ported)


class Sorted(nn.Module):
    def forward(self, x):
        return x[x > 0].sum() + x.sum()


def test_a_port_prints_how_many_holes_it_has():
    assert "  by hand  1 hole, see .holes" in str(jaxgrad.port(Sorted(), (X,), holes=True))


class Counted(nn.Linear):
    """It scales rows by an integer with a bound, such as a degree."""

    def forward(self, input: Any, count: Any = None) -> Any:
        return super().forward(input) * count.clamp(max=1)[:, None]


def test_a_port_with_a_bound_of_integers_is_written(tmp_path):
    """The proof that is written has the bound's result, and not the function of the call."""
    inputs = np.ones((3, 3), np.float32), np.array([0, 1, 2])
    jaxgrad.port(Counted(3, 2), inputs).write(tmp_path / "counted.py")
    assert (tmp_path / "counted.proof.json").is_file()

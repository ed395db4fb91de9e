"""The table of a weight map says which part of which tensor a leaf holds, and how."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity import WeightMap, weight_map
from jaxgrad.parity.prove.weights import listed


def rows(weights: WeightMap) -> list[str]:
    return [" ".join(line.split()) for line in str(weights).splitlines()]


def arrays(module: nn.Module) -> dict[str, np.ndarray]:
    return {name: x.detach().numpy() for name, x in module.state_dict().items()}


@pytest.fixture
def conv() -> nn.Conv2d:
    torch.manual_seed(0)
    return nn.Conv2d(2, 3, 3, bias=False)


@pytest.mark.parametrize(
    ("changed", "row"),
    [
        (
            lambda x: x.transpose(2, 3, 1, 0),
            "3×3×2×3 all weight 3×2×3×3 axes in the order 2, 3, 1, 0",
        ),
        (lambda x: x.reshape(3, 18), "3×18 all weight 3×2×3×3 reshaped"),
        (lambda x: x.reshape(3, 18).T, "18×3 all weight 3×2×3×3 reshaped, then transposed"),
        (
            lambda x: x.transpose(0, 2, 3, 1).reshape(3, 18),
            "3×18 [:, 0:2] weight[:, :, 0, 0] 3×2×3×3",
        ),
        (lambda x: x, "3×2×3×3 all weight 3×2×3×3"),
        (lambda x: x[None], "1×3×2×3×3 all weight 3×2×3×3"),
    ],
)
def test_a_rearrangement_is_named(conv, changed, row):
    """Permuted axes are listed as for `transpose`, and a reshape is called one."""
    weights = weight_map(conv, {"kernel": changed(arrays(conv)["weight"])})
    assert rows(weights)[1] == f"kernel {row}"


def test_parts_of_a_fused_tensor_are_indices():
    """The leaves of an attention hold rows of torch's one projection."""
    torch.manual_seed(0)
    module = nn.MultiheadAttention(4, 2, bias=False)
    q, k, v = np.split(arrays(module)["in_proj_weight"], 3)
    params = {
        "k": k.T, "out": arrays(module)["out_proj.weight"], "q": q.T.reshape(4, 2, 2), "v": v,
    }  # fmt: skip
    assert rows(weight_map(module, params))[1:] == [
        "k 4×4 all in_proj_weight[4:8] 12×4 transposed",
        "out 4×4 all out_proj.weight 4×4",
        "q 4×2×2 all in_proj_weight 12×4 16 of 48 elements, rearranged",
        "v 4×4 all in_proj_weight[8:12] 12×4",
    ]


def test_sums_and_scales_are_said():
    """A leaf may hold a sum of biases, or a tensor times a number."""
    torch.manual_seed(0)
    module = nn.GRUCell(3, 2, bias=True)
    s = arrays(module)
    params: Any = {**s, "bias": s["bias_ih"] + s["bias_hh"]}
    del params["bias_ih"], params["bias_hh"]
    text = rows(weight_map(module, params))
    assert "bias 6 all bias_ih 6 added" in text
    assert text[text.index("bias 6 all bias_ih 6 added") + 1] == "all bias_hh 6 added"


def test_a_leaf_that_a_converter_computes_is_listed_with_its_tensors():
    """A function that is not linear rearranges nothing, so no part is named."""
    torch.manual_seed(0)
    module = nn.Linear(2, 2)
    params = {"kernel": np.exp(arrays(module)["weight"]), "bias": arrays(module)["bias"]}
    weights = weight_map(
        module, params, weights=lambda s: {"kernel": s["weight"].exp(), "bias": s["bias"]}
    )
    assert "kernel 2×2 all weight computed by weights=" in rows(weights)


def test_a_leaf_of_many_parts_is_cut():
    """Only the first parts of a leaf are listed, and the rest is counted."""
    torch.manual_seed(0)
    module = nn.ModuleList(nn.Linear(2, 2, bias=False) for _ in range(20))
    stacked = np.stack(list(arrays(module).values()))
    text = rows(weight_map(module, {"kernel": stacked}))
    assert len(text) == listed.PARTS_SHOWN + 2
    assert text[-1] == "8 more"

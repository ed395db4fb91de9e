"""torch's own dtypes are recorded, each with the value that float64 would have given."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.record.jax_side.port import Draw, state_of
from jaxgrad.parity.prove.record.noise import Noise
from jaxgrad.parity.prove.record.torch_side import native
from jaxgrad.parity.prove.record.torch_side.native import Twins
from jaxgrad.parity.prove.record.torch_side.values import Native, Stored


BF16, F16, F32, F64 = torch.bfloat16, torch.float16, torch.float32, torch.float64
X = np.random.default_rng(0).standard_normal((3, 2))


class Layer(nn.Module):
    """A layer, with a constant beside it, that runs under autocast on request."""

    def __init__(self, autocasts: bool = False):
        super().__init__()
        torch.manual_seed(0)
        self.inner = nn.Linear(2, 2)
        self.autocasts = autocasts

    def forward(self, x: Tensor, **_: Any) -> Tensor:
        with torch.autocast("cpu", dtype=BF16, enabled=self.autocasts):
            return self.inner(x) * torch.full((2,), 0.1)


def run(module: nn.Module, loss: Any = None, low: bool = False, inputs: Any = (X,)) -> Native:
    state = {name: x.astype(np.float64) for name, x in state_of(module).items()}
    return native.run(module, [Draw(state, inputs)], None, loss, low)


def values(result: Native, op: str = "") -> list[Stored]:
    assert not result.error, result.error
    return [x for x in result.runs[0] if not op or x.op == op]


@pytest.mark.parametrize("dtype", [BF16, F16, torch.float8_e5m2])
def test_a_parameter_or_a_buffer_below_float32_is_low(dtype):
    """A module in float32 and float64 is not."""
    module = nn.BatchNorm1d(2)
    assert not native.is_low(module) and not native.is_low(module.double())
    module.running_mean = torch.zeros(2).to(dtype)
    assert native.is_low(module)


def test_the_working_dtype_is_that_of_most_parameters():
    """Sizes are added; buffers count in a module without parameters; integers never do."""
    module: Any = nn.Module()
    assert native.working_dtype(module) == F32
    module.register_buffer("steps", torch.zeros(9, dtype=torch.int32))
    assert native.working_dtype(module) == F32
    module.register_buffer("table", torch.zeros(9, dtype=F64))
    assert native.working_dtype(module) == F64
    module.small = nn.Parameter(torch.zeros(1, dtype=F16))
    assert native.working_dtype(module) == F16
    module.large = nn.Parameter(torch.zeros(3, dtype=BF16))
    assert native.working_dtype(module) == BF16
    module.small2, module.small3 = (nn.Parameter(torch.zeros(2, dtype=F16)) for _ in range(2))
    assert native.working_dtype(module) == F16  # 5 elements and 3


@pytest.mark.parametrize("dtype", [F32, F64])
def test_a_constant_that_the_module_makes_has_the_working_dtype(dtype):
    """In float64 torch's default dtype is float64 too."""
    result = run(Layer().to(dtype))
    name = str(dtype).removeprefix("torch.")

    assert result.working == name and result.dtypes == {
        "inner.weight": name,
        "inner.bias": name,
    }
    number, table = values(result, "full")  # the number is an operand of the kernel
    assert (table.dtype, table.constant, table.fits) == (name, True, []) and number.constant


def test_values_are_recorded_with_their_names_modules_and_calls():
    """Parameters and inputs have names; what depends on them is no constant."""
    result = run(Layer())
    named = {x.name: x for x in values(result) if x.name}
    (linear,) = [x for x in values(result, "linear") if not x.name and x.module == "inner"][-1:]

    assert named.keys() == {"input", "inner.weight", "inner.bias"}
    assert not any(x.constant for x in named.values()) and not linear.constant
    np.testing.assert_array_equal(named["input"].print, fingerprint(X.astype(np.float32)))
    assert [x.module for x in values(result, "mul")] == [""]


def test_only_the_inputs_of_the_whole_module_are_inputs():
    """The input of an inner module may be a computed value."""
    named = [x for x in values(run(nn.Sequential(nn.Tanh(), nn.Sequential(nn.Tanh())))) if x.name]
    assert [(x.name, x.module) for x in named] == [("input", "0")]


@pytest.mark.parametrize(("loss", "after"), [(None, ""), (lambda y, *_: y.square().sum(), "loss")])
def test_what_runs_after_the_module_is_the_loss(loss, after):
    """Without a loss it has no name."""
    result = run(Layer(), loss)
    assert {x.module for x in values(result, "square")} == ({after} if loss else set())
    assert not values(result, "full")[0].module


def test_an_input_by_name_is_named():
    """Inputs are found among keyword arguments, and numbers among them are no values."""
    result = run(Layer(), inputs={"x": X, "flag": 3})
    assert [x.name for x in values(result) if x.name == "input"] == ["input"]


def test_a_value_is_identified_by_what_float64_computes():
    """Under autocast the product is stored in bfloat16; its twin has no rounding."""
    module = Layer(autocasts=True)
    result = run(module)
    products = [x for x in values(result, "linear") if x.dtype == "bfloat16" and not x.name]
    exact = Layer().double()
    with torch.no_grad():
        expected = exact.inner(torch.tensor(X.astype(np.float32)).double()).numpy()

    np.testing.assert_allclose(products[-1].print, fingerprint(expected), rtol=1e-12)
    assert "bfloat16" in products[-1].holds and products[-1].fits == []


def test_an_error_in_these_dtypes_is_reported():
    """The second draw is not run."""

    class Raises(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise ValueError("no kernel")

    result = native.run(Raises(), [Draw({}, (X,))] * 2, None, None, False)
    assert result.error == "torch raised ValueError in float32: no kernel" and not result.runs


def test_a_scripted_part_is_run_without_hooks():
    """Hooks cannot be registered on it with keyword arguments."""
    with pytest.warns(DeprecationWarning, match="script"):
        part = torch.jit.script(nn.Linear(2, 2))
    assert values(run(nn.Sequential(part, nn.Tanh())), "tanh")[-1].module == "1"


def test_no_hook_remains():
    """The run removes the hooks that it registered on the user's module."""
    module = Layer()
    run(module)
    assert not module._forward_hooks and not module.inner._forward_pre_hooks


def recorded(function: Any, *args: Any, **kwargs: Any) -> list[Stored]:
    """Return the values of some calls outside of a module."""
    with Twins(nn.Module()) as twins:
        function(*args, **kwargs)
    return twins.values


def test_a_value_is_recorded_once_and_integers_never():
    """An operand is recorded when it is first read."""
    x = torch.tensor([1.0, 3.0])
    assert len(recorded(lambda: (x + 1, x * 2))) == 3
    assert not recorded(lambda: torch.tensor([1, 2]) + 1)


def test_a_fused_kernel_has_one_result_of_the_user():
    """The mean and the deviation of a layer norm are torch's own; a cast is a call of the user."""
    x = torch.tensor([[1.0, 2.0, 4.0]])
    assert [x.print.shape for x in recorded(nn.functional.layer_norm, x, (3,))][2:] == []
    assert [x.dtype for x in recorded(x.to, BF16)] == ["float32", "bfloat16"]
    assert len(recorded(torch.var_mean, x)) == 3  # the operand and both results


def test_an_operand_is_copied_before_it_changes_in_place():
    """The value before an in-place change and the one after it are both recorded."""
    x = torch.tensor([1.0, 2.0])
    first, second = (v.print for v in recorded(x.mul_, 3.0))
    np.testing.assert_array_equal(first, fingerprint(np.array([1.0, 2.0])))
    np.testing.assert_array_equal(second, fingerprint(np.array([3.0, 6.0])))


def test_lists_of_tensors_and_dtypes_are_computed_in_float64():
    """A cast to bfloat16 does not round the twin."""
    x, y = torch.tensor([0.1]), torch.tensor([0.2])
    wide = np.concatenate([x.double().numpy(), y.double().numpy()])
    (joined,) = recorded(lambda: torch.cat([x, y]))[2:]
    np.testing.assert_array_equal(joined.print, fingerprint(wide))

    cast = recorded(lambda: torch.sum(x, dtype=BF16))[-1]
    np.testing.assert_array_equal(cast.print, fingerprint(np.asarray(wide[0])))
    assert cast.dtype == "bfloat16" and not cast.fits and "bfloat16" in cast.holds


def test_a_cast_to_integers_truncates_the_twin_too():
    """Only floating dtypes are replaced."""
    values = recorded(lambda: torch.tensor([1.5]).to(torch.int32) * 1.0)
    np.testing.assert_array_equal(values[-1].print, fingerprint(np.array([1.0])))


def test_a_kernel_that_reads_bits_keeps_its_own_result():
    """The bits of a float64 number are other ones, and so many that the shape would differ."""
    x = torch.tensor([1.0, 2.0])
    values = recorded(lambda: x.view(torch.int32).view(F32) * 1.0)
    np.testing.assert_array_equal(values[-1].print, fingerprint(np.array([1.0, 2.0])))


@pytest.mark.parametrize(
    ("exact", "expected"),
    [
        (lambda: torch.zeros(2, dtype=F64), [0.0, 0.0]),
        (lambda: [torch.zeros(3, dtype=F64)], [1.0, 2.0]),
        (lambda: [torch.zeros(2, dtype=F64)] * 2, [1.0, 2.0]),
        (list, [1.0, 2.0]),
        (lambda: 1 / 0, [1.0, 2.0]),
    ],
)
def test_a_kernel_without_an_equal_in_float64_keeps_its_own_result(exact, expected):
    """A float64 kernel replaces a result only if its results match in number and shape."""
    (result,) = Twins(nn.Module())._run_exactly(exact, (), {}, [torch.tensor([1.0, 2.0])])
    assert result.dtype == F64 and result.tolist() == expected


@pytest.mark.parametrize(
    ("numbers", "fits"),
    [
        ([1.0, -0.5], ["bfloat16", "float16", "float8_e4m3fn", "float8_e5m2"]),
        ([1.0, np.nan, np.inf, -np.inf], ["bfloat16", "float16", "float8_e4m3fn", "float8_e5m2"]),
        ([1 + 2.0**-7], ["bfloat16", "float16"]),
        ([1 + 2.0**-10], ["float16"]),
        ([2.0**20], ["bfloat16"]),
        ([0.1], []),
        ([1 + 0.1j], []),
        ([1 + 2j], ["bfloat16", "float16", "float8_e4m3fn", "float8_e5m2"]),
    ],
)
def test_the_dtypes_that_hold_a_value_exactly(numbers, fits):
    """Values that are not finite fit into each; a complex number fits if both parts do."""
    assert native._fits(torch.tensor(numbers)) == fits


@pytest.mark.parametrize(
    ("dtype", "wide"),
    [(BF16, F64), (torch.complex64, torch.complex128), (torch.int32, torch.int32), (F64, F64)],
)
def test_a_twin_is_a_copy_in_double_precision(dtype, wide):
    """Integers keep their dtype, and no twin shares memory with its tensor."""
    x = torch.ones(2, dtype=dtype)
    twin = native._wide(x)
    x += 1
    assert twin.dtype == wide and twin.tolist() == [1, 1]


def test_the_state_of_an_optimizer_is_described_by_its_tensors():
    """The count of the steps is a scalar, and state of other parameters has no name."""
    layer, other = nn.Linear(2, 1).to(BF16), nn.Parameter(torch.ones(2))
    other.grad = torch.ones(2)
    adam = torch.optim.Adam([*layer.parameters(), other], amsgrad=False)

    assert native.state_dtypes(layer, adam) == {
        f"{name} {key}": "bfloat16"
        for name in ("weight", "bias")
        for key in ("exp_avg", "exp_avg_sq")
    }


def test_an_optimizer_that_needs_a_closure_has_no_state():
    """Another surface reports it."""
    layer = nn.Linear(2, 1)
    assert native.state_dtypes(layer, torch.optim.LBFGS(layer.parameters())) == {}


def test_the_state_of_a_parameter_without_dimensions_is_listed():
    """A temperature has moments too; the counter of the steps is not one of them."""
    single = nn.Module()
    single.t = nn.Parameter(torch.tensor(1.0))
    adam = torch.optim.Adam(single.parameters())
    assert native.state_dtypes(single, adam) == {"t exp_avg": "float32", "t exp_avg_sq": "float32"}


def test_the_outputs_are_those_of_the_modules_own_dtypes():
    """They are rounded as the user sees them, and stored in float64."""
    module = Layer().bfloat16()
    result = run(module)
    (outputs,) = result.outputs
    with torch.no_grad():
        expected = module(torch.tensor(X).to(BF16))
    assert outputs[""].dtype == np.float64
    assert np.array_equal(outputs[""], expected.double().numpy())


@pytest.mark.parametrize("draw", [nn.functional.dropout, lambda x: x * torch.rand_like(x).round()])
def test_the_numbers_of_the_draw_are_drawn_again(draw):
    """A kernel in float64 would draw other numbers than the module's own."""

    class Random(Layer):
        def forward(self, x: Tensor, **_: Any) -> Tensor:
            return draw(self.inner(x)).bfloat16()

    numbers = np.array([[1.0, 0], [0, 0], [1, 1]])
    module = Random()
    state = {name: x.astype(np.float64) for name, x in state_of(module).items()}
    noise = [Noise("bernoulli", numbers, numbers)]
    result = native.run(module, [Draw(state, (X,), noise=noise)], None, None, True)
    (outputs,) = result.outputs
    last = values(result)[-1]

    assert np.array_equal(outputs[""] != 0, numbers != 0)
    with torch.no_grad():
        wide = module.inner.double()(torch.tensor(X.astype(np.float32)).double()).numpy()
    scale = 2 if draw is nn.functional.dropout else 1
    assert np.allclose(last.print, fingerprint(wide * numbers * scale), rtol=1e-6)

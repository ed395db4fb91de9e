"""Compare all mistakes that are tried in a call with the results that they stand for."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from jaxgrad.parity.prove.causes.mistakes.call import Mistakes, TorchCall


def draw(*shape: int, seed: int = 0) -> Tensor:
    """Draw a standard normal tensor in float64."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def tried(
    mistakes: Callable[[TorchCall], Mistakes],
    func: Callable[..., Any],
    *args: Any,
    op: str = "",
    numbers: Sequence[float] = (),
    **kwargs: Any,
) -> list[TorchCall]:
    """Return the mistakes that are tried in a call if the JAX program contains these numbers."""
    name = op or getattr(func, "__name__", "").strip("_")
    return list(mistakes(TorchCall(func, args, kwargs, name, numbers=tuple(numbers))))


def texts(calls: Iterable[TorchCall]) -> list[str]:
    """Return what each mistake is called."""
    return [call.mistake for call in calls]


def check(calls: Iterable[TorchCall], expected: Mapping[str, Tensor]) -> None:
    """Require exactly these mistakes, in this order and with these results."""
    calls = list(calls)
    assert texts(calls) == list(expected)
    for call in calls:
        torch.testing.assert_close(
            call.result,
            expected[call.mistake],
            rtol=1e-10,
            atol=0,
            equal_nan=True,
            msg=call.mistake,
        )

"""torch's functions without their warnings, which the tests would take for errors."""

import functools
import warnings
from collections.abc import Callable
from typing import Any


def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, silent about what is deprecated or slow."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*args, **kwargs)

    return call

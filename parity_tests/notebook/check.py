"""Check a reader's answer to an exercise against torch, which runs at that moment.

check("hooks/once_or_per_use", once, per_use)    calls `checks.hooks.once_or_per_use(once, per_use)`

A rule of `checks` yields triples: a noun phrase, the reader's value and torch's value. A fourth
item is a hint, shown if the two differ. If torch's value is True, the phrase is a statement that
must hold; `holds` takes the sentence that is shown if it does not.
"""

import contextlib
import importlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType
from typing import Any

from jax import errors

from parity_tests.notebook import checks


Rows = Iterable[tuple[str, Any, Any] | tuple[str, Any, Any, str]]
RTOL = 1e-4  # torch computes in float32 where a reader does not ask for more
DIGITS = 4
FACTS = 4  # facts of a right answer that are listed
# What the message says if a function or method of one framework gets a value of the other.
OF_ONE = (
    *("valid JAX type", "must be Tensor, not", "has no attribute", "as an abstract array"),
    *("'Tensor' and 'jax", "ArrayImpl' and 'Tensor'", "Tracer' and 'Tensor'"),
)
# What the message says in place of JAX's if Python or NumPy needs the numbers of a traced array.
TRACED = {
    errors.TracerArrayConversionError: "your code gives NumPy a traced array, which has no numbers "
    "yet; use `jnp` in place of `np`",
    errors.TracerBoolConversionError: "your code uses a traced array, which has no value yet, as "
    "the condition of `if` or `while`; use `jnp.where`, `lax.cond` or `lax.while_loop`",
    errors.TracerIntegerConversionError: "your code uses a traced array, which has no value yet, "
    "where Python needs an integer, as in `range(x)`; use `lax.fori_loop`, or `jnp.take` for an "
    "index",
    errors.ConcretizationTypeError: "your code converts a traced array, which has no value yet, to "
    "a Python number, as `float(x)` does; compute with the array itself",
}
NO_RETURN = "A function without `return` gives None"
UNFINISHED = "Not yet: replace each `...` in the cell above, run it, and run this cell again."


class Advice(Exception):
    """An answer cannot be compared with torch; the message tells the reader what to do."""


def check(name: str, *answers: Any) -> None:
    """Print whether an answer is right, or how it differs from torch.

    Args:
        name: The exercise, as in `exercise(name)`.
        *answers: The names that the reader has defined.
    """
    theme, _, stem = name.partition("/")
    print(verdict(getattr(importlib.import_module(f"{checks.__name__}.{theme}"), stem), answers))


def verdict(rule: Callable[..., Rows], answers: Iterable[Any]) -> str:
    """Return a sentence that begins with "Right" or with "Not yet"."""
    facts = []
    try:
        for what, answer, wanted, *hint in rule(*answers):
            fault = _fault(what, as_numbers(answer), as_numbers(wanted), *hint)
            if fault:
                return fault
            facts.append(what if wanted is True else f"{what} is {_written(as_numbers(wanted))}")
    except Exception as error:  # the reader's code may raise anything
        if any(word in str(error) for word in ("llipsis", "'...'")):
            return UNFINISHED
        if isinstance(error, Advice):
            return f"Not yet: {error}."
        for kind, advice in TRACED.items():
            if isinstance(error, kind):
                return f"Not yet: {advice}."
        reason = str(error).strip().partition("\n")[0]
        hint = f". {NO_RETURN}." if "None" in reason else ""
        return f"Not yet: your code raises {type(error).__name__}: {reason.rstrip('.')}{hint}"
    more = f", and {len(facts) - FACTS} more" if len(facts) > FACTS + 1 else ""
    return f"Right: {', '.join(facts[:FACTS] if more else facts)}{more}."


def _fault(what: str, found: Any, wanted: Any, hint: str = "") -> str:
    """Return what is wrong with a value of the reader, or nothing."""
    right = found is True if wanted is True else same(found, wanted)
    if right:
        return ""
    if "Ellipsis" in str(found):
        return UNFINISHED
    if wanted is True:
        return f"Not yet: {found}."
    text = f"Not yet: {what} is {_written(found)}; it should be {_written(wanted)}."
    hint = NO_RETURN if found is None and "gradient" not in what else hint
    return f"{text} {hint}." if hint else text


def holds(condition: Any, otherwise: str) -> bool | str:
    """Return True if a condition holds, and otherwise the sentence that says what is wrong."""
    return bool(condition) or otherwise


@contextlib.contextmanager
def within_one_framework(advice: str) -> Iterator[None]:
    """Give advice if a function or method of one framework gets a value of the other.

    Raises:
        Advice: It got one.
    """
    try:
        yield
    except (TypeError, AttributeError) as error:
        text = str(error)
        misspelled = text.startswith("module ")  # module 'jax' has no attribute 'stop_gradient'
        if misspelled or not any(words in text for words in OF_ONE):
            raise
        raise Advice(advice) from error


def returned(name: str, value: Any, *, scalar: bool = True) -> Any:
    """Return what a function of the reader has returned.

    Args:
        name: The name of the function.
        value: What it has returned.
        scalar: Whether this has to be one number.

    Raises:
        Advice: The function has returned nothing, a function, or more than one number.
    """
    if value is None:
        raise Advice(f"`{name}` returns None; end it with `return` and the value")
    if callable(value):
        raise Advice(f"`{name}` returns a function; call it, and return its result")
    if scalar and isinstance(value, tuple | list | dict):
        raise Advice(f"`{name}` returns a {type(value).__name__}; return one number")
    if scalar and getattr(value, "ndim", 0):
        raise Advice(f"`{name}` returns an array of shape {tuple(value.shape)}; return one number")
    return value


def number(name: str, answer: Any) -> float:
    """Return an answer as a number.

    Raises:
        Advice: The answer is not a number.
    """
    try:
        return float(answer)
    except (TypeError, ValueError):
        raise Advice(f"`{name}` is {answer!r}; give a number, such as 1 or -0.5") from None


def names_in(function: Any) -> set[str]:
    """Return the names of the globals and attributes that a function reads."""

    def inside(code: CodeType) -> Iterator[str]:
        yield from code.co_names
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                yield from inside(constant)

    code = getattr(function, "__code__", None)
    return set(inside(code)) if code else set()


def as_numbers(value: Any) -> Any:
    """Return a tree with numbers, lists, dicts and None in place of tensors and arrays."""
    if isinstance(value, Mapping):
        return {key: as_numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_numbers(item) for item in value]
    if hasattr(value, "tolist"):
        return value.tolist()
    return value


def same(found: Any, wanted: Any) -> bool:
    """Return whether two trees have the same structure and, up to rounding, the same numbers."""
    if isinstance(wanted, Mapping):
        return (
            isinstance(found, Mapping)
            and found.keys() == wanted.keys()
            and all(same(found[key], item) for key, item in wanted.items())
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list) and len(found) == len(wanted) and all(map(same, found, wanted))
        )
    if isinstance(wanted, int | float) and isinstance(found, int | float):
        both_nan = math.isnan(wanted) and math.isnan(found)
        return both_nan or math.isclose(found, wanted, rel_tol=RTOL, abs_tol=1e-6)
    return found is wanted or (isinstance(wanted, str) and found == wanted)


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)

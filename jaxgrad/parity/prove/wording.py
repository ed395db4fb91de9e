"""How two programs differ, as data, and the sentence for it that blames the port.

With `reference="torch"` the JAX program is the port, and with `reference="jax"` torch's is: the
same difference is then a sentence about torch's code.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence


TORCH, JAX = "torch", "jax"
REFERENCES = (TORCH, JAX)  # what `prove(reference=)` accepts
NAMES = {TORCH: "torch", JAX: "JAX"}


def other(reference: str) -> str:
    """Return the framework of the port."""
    return TORCH if reference == JAX else JAX


def jax_program(reference: str) -> str:
    """Return what a sentence calls the JAX program."""
    return "the port" if reference == TORCH else "the JAX program"


@dataclasses.dataclass(frozen=True)
class Difference:
    """A difference of the two programs, of one of the kinds below; by itself, none."""

    def says(self, reference: str) -> str:
        """Return the clause that says what is wrong in the port of this reference."""
        return self.of_torch if reference == JAX else self.of_jax

    @property
    def of_jax(self) -> str:
        """What the JAX program does differently from torch."""
        return ""

    @property
    def of_torch(self) -> str:
        """What torch does differently from the JAX program."""
        return ""

    @property
    def setting(self) -> tuple[str, str]:
        """The setting that differs, and JAX's value of it; a setting that is missing is 0.

        Example:
            >>> Setting("momentum", "0", "0.9").setting == Missing("the momentum").setting
            True
        """
        return self.of_jax, ""

    def at(self, where: str) -> Difference:
        """Fill in the place, which is "{}" in each text."""
        texts = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        filled = {k: x.replace("{}", where) for k, x in texts.items() if isinstance(x, str)}
        return dataclasses.replace(self, **filled)


NO_DIFFERENCE = Difference()


@dataclasses.dataclass(frozen=True)
class Setting(Difference):
    """A number, an axis, a function or a mode has another value.

    Example:
        >>> eps = Setting("eps", "1e-06", "1e-05")
        >>> eps.says("torch")
        'eps is 1e-06, torch uses 1e-05'
        >>> eps.says("jax")
        'eps is 1e-05, JAX uses 1e-06'
    """

    what: str
    jax: str
    torch: str = ""  # empty if it is not known
    verb: str = "is"
    own: str = "uses"  # the verb of the other program

    @property
    def setting(self) -> tuple[str, str]:
        return _without_article(self.what), self.jax

    @property
    def of_jax(self) -> str:
        return self._clause(self.jax, "torch", self.torch)

    @property
    def of_torch(self) -> str:
        if not self.torch:
            return f"in JAX, {self.of_jax}"
        return self._clause(self.torch, "JAX", self.jax)

    def _clause(self, own: str, framework: str, theirs: str) -> str:
        clause = f"{self.what} {self.verb} {own}"
        return f"{clause}, {' '.join(filter(None, (framework, self.own, theirs)))}" if theirs else (
            clause
        )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Missing(Difference):
    """torch has something that JAX lacks.

    Example:
        >>> Missing("the bias").says("torch"), Missing("the bias").says("jax")
        ('the bias is missing', 'the bias is extra, JAX has none')
    """

    what: str
    instead: str = ""  # what JAX has instead

    @property
    def setting(self) -> tuple[str, str]:
        return _without_article(self.what), self.instead or "0"

    @property
    def of_jax(self) -> str:
        return f"{self.what} is missing" + (f", JAX has {self.instead}" if self.instead else "")

    @property
    def of_torch(self) -> str:
        return f"{self.what} is extra, JAX has {self.instead or 'none'}"


@dataclasses.dataclass(frozen=True)
class Multiple(Difference):
    """JAX's value is a multiple of torch's.

    Example:
        >>> Multiple("value", "2", "1/2").says("jax")
        "torch's value is JAX's times 1/2"
    """

    what: str
    factor: str
    inverse: str

    @property
    def of_jax(self) -> str:
        return f"JAX's {self.what} is torch's times {self.factor}"

    @property
    def of_torch(self) -> str:
        return f"torch's {self.what} is JAX's times {self.inverse}"


@dataclasses.dataclass(frozen=True)
class Order(Difference):
    """The parts of something are in another order.

    Example:
        >>> Order("the operands of cat", (1, 2, 0)).says("jax")
        'the operands of cat are in another order: 2, 0, 1'
    """

    what: str
    order: tuple[int, ...]  # JAX has torch's part `order[k]` at `k`

    @property
    def of_jax(self) -> str:
        return self._clause(self.order)

    @property
    def of_torch(self) -> str:
        return self._clause([self.order.index(k) for k in range(len(self.order))])

    def _clause(self, order: Sequence[int]) -> str:
        return f"{self.what} are in another order: {', '.join(map(str, order))}"


@dataclasses.dataclass(frozen=True)
class Mutual(Difference):
    """What either program does relative to the other one: a transpose, an exchange, a sign."""

    text: str

    @property
    def of_jax(self) -> str:
        return self.text

    @property
    def of_torch(self) -> str:
        return self.text


@dataclasses.dataclass(frozen=True)
class Told(Difference):
    """A difference with a sentence of its own for each port."""

    jax: str  # if JAX's program is the port
    torch: str  # if torch's is

    @property
    def of_jax(self) -> str:
        return self.jax

    @property
    def of_torch(self) -> str:
        return self.torch


@dataclasses.dataclass(frozen=True)
class InJax(Difference):
    """A statement about the JAX program; seen from JAX, it is one that blames neither program.

    Example:
        >>> InJax("the mask adds 1").says("jax")
        'in JAX, the mask adds 1'
    """

    text: str

    @property
    def of_jax(self) -> str:
        return self.text

    @property
    def of_torch(self) -> str:
        return f"in JAX, {self.text}"


@dataclasses.dataclass(frozen=True)
class Rerun(Difference):
    """A difference that a rerun confirms, and what to write in the port.

    Example:
        >>> stop = Rerun(Mutual("JAX stops it"), "rerun", "; remove it", "; write .detach()")
        >>> stop.says("jax")
        'JAX stops it (rerun); write .detach()'
    """

    what: Difference
    tested: str
    jax: str = ""  # in a port to JAX
    torch: str = ""  # in a port to torch

    @property
    def of_jax(self) -> str:
        return f"{self.what.of_jax} ({self.tested}){self.jax}"

    @property
    def of_torch(self) -> str:
        return f"{self.what.of_torch} ({self.tested}){self.torch}"


# How gradients are compared if the forward passes differ, and the mistake in them is known.
MADE = Told(
    "with the same mistake in torch's forward pass",
    "with what JAX does in torch's forward pass",
)


CLIPS_AS_OPTAX = Told(
    "optax.clip_by_global_norm lacks the 1e-6 that torch adds to the norm, "
    "jaxgrad.optim.clip_grad_norm has it",
    "torch adds 1e-6 to the norm, optax.clip_by_global_norm does not",
)


# The reason why a mistake that explains the outputs is not confirmed.
LOSES = Mutual("because torch then has no gradient of {}, and JAX has one")


def extra_stop(places: Sequence[str], lines: Sequence[str], tested: str) -> Difference:
    """Return the difference that only JAX stops a gradient.

    Args:
        places: Where JAX stops it.
        lines: torch's lines that compute what JAX stops, if they are known.
        tested: How this was tested.
    """
    at = f" at {_and_at(lines)}" if lines else " in torch"
    what = Told(
        f"an extra stop_gradient at {_and_at(places)}",
        f"JAX stops the gradient at {_and_at(places)}, torch does not",
    )
    return Rerun(what, tested, torch=f"; write .detach(){at}")


def missing_stop(through: Sequence[str], tested: str, *, no_grad: bool = False) -> Difference:
    """Return the difference that only torch stops a gradient, which JAX passes at these places.

    With `no_grad`, torch computes the values that are read there under `no_grad`.
    """
    there = "there" if len(through) == 1 else "in each place"
    places, passes = _and_at(through, "and"), "torch's does not"
    if no_grad:
        values = "the value" if len(through) == 1 else "the values"
        passes = f"torch computes {values} under no_grad"
    what = Told(
        f"JAX's gradient also flows through {places}, {passes}",
        f"{passes}, JAX's gradient flows through {places}"
        if no_grad
        else f"torch stops the gradient that flows through {places} in JAX",
    )
    return Rerun(what, tested, f"; a stop_gradient is missing {there}")


def stop_in_torch(places: Sequence[str], tested: str, through: Sequence[str] = ()) -> Difference:
    """Return the difference that only torch stops a gradient, at these places of torch's code.

    `through` are the places where JAX would have to stop it, if they are known.
    """
    what = Mutual(f"torch stops the gradient at {_and_at(places)}, JAX does not")
    parts = [f"in {x}" if x.startswith("the call at ") else f"at {x}" for x in through]
    add = f"; add a stop_gradient {' and '.join(parts)}" if parts else ""
    it = "this stop" if len(places) == 1 else "these stops"
    return Rerun(what, tested, add, f"; leave {it} out")


def straight_through(places: Sequence[str], tested: str, formula: str) -> Difference:
    """Return the difference that only torch passes a gradient straight through."""
    what = f"torch passes the gradient straight through at {_and_at(places)}, JAX does not"
    return Rerun(Mutual(what), tested, f"; write {formula}")


def _without_article(what: str) -> str:
    return what.removeprefix("the ")


def _and_at(places: Sequence[str], word: str = "and at") -> str:
    return f" {word} ".join(places)

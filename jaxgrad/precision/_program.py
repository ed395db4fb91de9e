"""Questions about a program: who made a value, who uses it, what is it a view of?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from jax.extend import core as jex_core

from jaxgrad._core import compat, source
from jaxgrad._core import jaxpr as _jaxpr
from jaxgrad.precision._lists import PRODUCTS


SHAPE = {"broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "copy"}
VIEW = SHAPE | {"convert_element_type", "stop_gradient"}
PART = VIEW | {"slice", "dynamic_slice", "rev"}


class Operation(NamedTuple):
    name: str  # torch's
    data: tuple[Any, ...]  # what decides on the dtype of the result
    inside: tuple[jex_core.JaxprEqn, ...]
    end: jex_core.JaxprEqn


class Program:
    """Every equation of a jaxpr and of those inside it, and the way between them."""

    def __init__(self, jaxpr: Any) -> None:
        self.eqns: list[jex_core.JaxprEqn] = []
        self.makers: dict[Any, jex_core.JaxprEqn] = {}
        self.uses: dict[Any, list[jex_core.JaxprEqn | None]] = {}  # None: an output
        # What an input of an inner jaxpr is outside, for each caller; None: it changes in a loop.
        self.outside: dict[Any, list[Any]] = {}
        self._read(compat.open_jaxpr(jaxpr)[0])

    def _read(self, jaxpr: Any) -> None:
        for atom in jaxpr.outvars:
            self._use(atom, None)
        self.makers |= {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
        self.eqns.extend(jaxpr.eqns)
        for eqn in reversed(jaxpr.eqns):
            if eqn.effects or any(v in self.uses for v in eqn.outvars):  # it is needed
                for atom in eqn.invars:
                    self._use(atom, eqn)
        for eqn in jaxpr.eqns:
            for body in _jaxpr.bodies(eqn):
                sub, _ = compat.open_jaxpr(body.jaxpr)
                outside = body.feed(eqn.invars)
                outside[body.carry.start : body.carry.stop] = [None] * len(body.carry)
                for inside, atom in zip(sub.invars, outside, strict=True):
                    self.outside.setdefault(inside, []).append(atom)
                if not any(v in self.makers for inner in sub.eqns for v in inner.outvars):
                    self._read(sub)  # only once: a body may be called several times

    def _use(self, atom: Any, eqn: Any) -> None:
        if isinstance(atom, jex_core.Var):
            self.uses.setdefault(atom, []).append(eqn)

    def made(self, atom: Any) -> jex_core.JaxprEqn | None:
        """The equation that made `atom`; None for a number or an input."""
        return self.makers.get(atom) if isinstance(atom, jex_core.Var) else None

    def maker(self, atom: Any, *names: str) -> jex_core.JaxprEqn | None:
        """The equation that made `atom`, if it is one of these; any change of shape aside."""
        while (eqn := self.made(atom)) is not None:
            if eqn.primitive.name in names:
                return eqn
            if eqn.primitive.name not in SHAPE:
                return None
            atom = eqn.invars[0]
        return None

    def users(self, eqn: jex_core.JaxprEqn) -> list[Any]:
        """The equations that use what `eqn` made, each once; None: it is an output."""
        return self.readers(eqn.outvars[0], SHAPE)

    def readers(self, var: Any, through: set[str]) -> list[Any]:
        """The equations that use a variable or a view of it, each once."""
        found: list[Any] = []
        for user in self.uses.get(var, []):
            view = user is not None and user.primitive.name in through
            last = self.readers(user.outvars[0], through) if user is not None and view else [user]
            found.extend(one for one in last if not any(one is other for other in found))
        return found

    def only_for(self, eqn: jex_core.JaxprEqn, *users: Any) -> bool:
        """Whether nobody else uses what `eqn` made."""
        return all(any(user is other for other in users) for user in self.users(eqn))

    def sole_user(self, eqn: jex_core.JaxprEqn, *names: str) -> jex_core.JaxprEqn | None:
        """The one equation that uses what `eqn` made, if it is one of these."""
        users = self.users(eqn)
        if len(users) == 1 and users[0] is not None and users[0].primitive.name in names:
            return users[0]
        return None

    def views(self, atom: Any, through: set[str] = VIEW) -> Iterator[Any]:
        """`atom`, and what it is a view of: through changes of shape, and out of a jit.

        Numbers made of integers because a program says so (`astype`) are no view of those.
        """
        callers: list[jex_core.JaxprEqn] = []
        while True:
            yield atom
            eqn = self.made(atom)
            if eqn is not None and eqn.primitive.name in compat.JIT:
                body, _ = compat.open_jaxpr(eqn.params["jaxpr"])
                callers.append(eqn)
                atom = body.outvars[eqn.outvars.index(atom)]
            elif eqn is not None and eqn.primitive.name in through and not _is_astype(eqn):
                atom = eqn.invars[0]
            elif callers and eqn is None and isinstance(atom, jex_core.Var):
                caller = callers.pop()
                body, _ = compat.open_jaxpr(caller.params["jaxpr"])
                if atom not in body.invars:
                    return
                atom = caller.invars[body.invars.index(atom)]
            else:
                return

    def origin(self, atom: Any, through: set[str] = VIEW) -> Any:
        """The last of its views."""
        return list(self.views(atom, through))[-1]

    def rank(self, atom: Any) -> int:
        """0 for a number (or integers), 1 for a 0-d array, 2 for an array."""
        views = list(self.views(atom))
        inexact = all(map(_jaxpr.is_inexact, views))
        if atom.aval.weak_type or not inexact or self.is_number(views[-1]):
            return 0
        return 2 if all(_jaxpr.abstract(view).shape for view in views) else 1

    def is_number(self, atom: Any) -> bool:
        """A number that is written in the program, or made of such numbers."""
        if not isinstance(atom, jex_core.Var):
            return atom is not None
        if atom not in self.makers:
            return atom in self.outside and all(map(self.is_number, self.outside[atom]))
        made_of = self.makers[atom].invars if not _jaxpr.abstract(atom).shape else []
        return len(made_of) > 0 and all(map(self.is_number, made_of))

    def is_given(self, atom: Any) -> bool:
        """An argument of the program, or a part of one."""
        origin = atom if atom is None else self.origin(atom, PART)
        if not isinstance(origin, jex_core.Var) or origin in self.makers:
            return False
        return _jaxpr.is_inexact(origin) and all(map(self.is_given, self.outside.get(origin, [])))

    def is_vector(self, atom: Any) -> bool:
        """A bias or a scale: an array of one dimension that is given, perhaps broadcast."""
        shapes = [_jaxpr.abstract(view).shape for view in self.views(atom, PART)]
        flat = any(shape and sum(n != 1 for n in shape) <= 1 for shape in shapes)
        return flat and self.is_given(atom)

    def is_bias(self, atom: Any) -> bool:
        """A vector that is only added or scaled: data would be multiplied, or looked at, too."""
        return self.is_vector(atom) and all(
            user is None or user.primitive.name in {"add", "mul", "square", "integer_pow"}
            for user in self.readers(self.origin(atom, PART), PART)
        )

    def is_linear(self, atom: Any) -> bool:
        """A product, or a sum of products and biases."""
        eqn = self.made(self.origin(atom))
        if eqn is None:
            return False
        if eqn.primitive.name == "add":
            sides = [self.is_linear(v) or self.is_bias(v) for v in eqn.invars]
            return all(sides) and any(self.is_linear(v) for v in eqn.invars)
        return eqn.primitive.name in PRODUCTS and contracts(eqn)


def number(atom: Any) -> float | None:
    """The value of a number that is written in the program."""
    if not isinstance(atom, jex_core.Literal):
        return None
    return float(atom.val) if _jaxpr.is_inexact(atom) else None


def contracts(eqn: jex_core.JaxprEqn) -> bool:
    """Whether a product sums over anything: `einsum` writes an outer product as one, too."""
    dimensions = eqn.params["dimension_numbers"] if eqn.primitive.name == "dot_general" else None
    return dimensions is None or len(dimensions[0][0]) > 0


def _is_astype(eqn: jex_core.JaxprEqn) -> bool:
    if eqn.primitive.name != "convert_element_type" or _jaxpr.is_inexact(eqn.invars[0]):
        return False
    return source.is_written(eqn)

"""A traced program as a graph: the producers, the consumers and the views of each value."""

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
    """A group of equations that torch computes as one operation."""

    name: str  # torch's name
    data: tuple[Any, ...]  # the variables whose dtypes determine that of the result
    inside: tuple[jex_core.JaxprEqn, ...]  # all its equations but the last
    end: jex_core.JaxprEqn  # its last equation


class LinkedProgram:
    """Every equation of a jaxpr and of its inner jaxprs, with the links between them."""

    def __init__(self, jaxpr: Any) -> None:
        self.eqns: list[jex_core.JaxprEqn] = []
        self._producers: dict[Any, jex_core.JaxprEqn] = {}
        self._uses: dict[Any, list[jex_core.JaxprEqn | None]] = {}  # None: an output
        # The outer value of each inner jaxpr's input, per call; None for the carry of a loop.
        self._outer: dict[Any, list[Any]] = {}
        self._read(compat.open_jaxpr(jaxpr)[0])

    def _read(self, jaxpr: Any) -> None:
        for atom in jaxpr.outvars:
            self._use(atom, None)
        self._producers |= {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
        self.eqns.extend(jaxpr.eqns)
        for eqn in reversed(jaxpr.eqns):
            if eqn.effects or any(v in self._uses for v in eqn.outvars):  # not dead code
                for atom in eqn.invars:
                    self._use(atom, eqn)
        for eqn in jaxpr.eqns:
            for body in _jaxpr.bodies(eqn):
                sub, _ = compat.open_jaxpr(body.jaxpr)
                outer = body.feed(eqn.invars)
                outer[body.carry.start : body.carry.stop] = [None] * len(body.carry)
                for var, atom in zip(sub.invars, outer, strict=True):
                    self._outer.setdefault(var, []).append(atom)
                if not any(v in self._producers for inner in sub.eqns for v in inner.outvars):
                    self._read(sub)  # only once, even if several equations call this jaxpr

    def _use(self, atom: Any, eqn: Any) -> None:
        if isinstance(atom, jex_core.Var):
            self._uses.setdefault(atom, []).append(eqn)

    def producer(self, atom: Any) -> jex_core.JaxprEqn | None:
        """Return the equation that computes `atom`; None for a literal or an input."""
        return self._producers.get(atom) if isinstance(atom, jex_core.Var) else None

    def find_producer(self, atom: Any, *names: str) -> jex_core.JaxprEqn | None:
        """Return the equation that computes `atom`, through reshapes, if its name is in `names`."""
        while (eqn := self.producer(atom)) is not None:
            if eqn.primitive.name in names:
                return eqn
            if eqn.primitive.name not in SHAPE:
                return None
            atom = eqn.invars[0]
        return None

    def consumers(self, eqn: jex_core.JaxprEqn) -> list[Any]:
        """Return the distinct equations that use the output of `eqn`; None for a program output."""
        return self._consumers(eqn.outvars[0], SHAPE)

    def _consumers(self, var: Any, through: set[str]) -> list[Any]:
        """Return the distinct equations that use a variable or a view of it."""
        consumers: list[Any] = []
        for eqn in self._uses.get(var, []):
            view = eqn is not None and eqn.primitive.name in through
            last = self._consumers(eqn.outvars[0], through) if eqn is not None and view else [eqn]
            consumers.extend(new for new in last if not any(new is old for old in consumers))
        return consumers

    def feeds_only(self, eqn: jex_core.JaxprEqn, *consumers: Any) -> bool:
        """Return whether only `consumers` use the output of `eqn`."""
        return all(any(user is other for other in consumers) for user in self.consumers(eqn))

    def sole_consumer(self, eqn: jex_core.JaxprEqn, *names: str) -> jex_core.JaxprEqn | None:
        """Return the only equation that uses the output of `eqn`, if its name is in `names`."""
        consumers = self.consumers(eqn)
        if len(consumers) == 1 and consumers[0] is not None:
            return consumers[0] if consumers[0].primitive.name in names else None
        return None

    def views(self, atom: Any, through: set[str] = VIEW) -> Iterator[Any]:
        """Yield `atom` and the values that it is a view of, across `jit` boundaries.

        An explicit conversion of integers (`astype`) does not make a view.
        """
        callers: list[jex_core.JaxprEqn] = []
        while True:
            yield atom
            eqn = self.producer(atom)
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
        """Return the last of the values that `views` yields."""
        return list(self.views(atom, through))[-1]

    def rank(self, atom: Any) -> int:
        """Return 0 for a number or an integer array, 1 for a 0-d array, 2 for any other array."""
        views = list(self.views(atom))
        inexact = all(map(_jaxpr.is_inexact, views))
        if atom.aval.weak_type or not inexact or self.is_number(views[-1]):
            return 0
        return 2 if all(_jaxpr.abstract(view).shape for view in views) else 1

    def is_number(self, atom: Any) -> bool:
        """Return whether `atom` is a literal number, or a scalar computed from literals alone."""
        if not isinstance(atom, jex_core.Var):
            return atom is not None
        if atom not in self._producers:
            return atom in self._outer and all(map(self.is_number, self._outer[atom]))
        operands = self._producers[atom].invars if not _jaxpr.abstract(atom).shape else []
        return len(operands) > 0 and all(map(self.is_number, operands))

    def is_argument(self, atom: Any) -> bool:
        """Return whether `atom` is a floating point argument of the program, or a slice of one."""
        origin = atom if atom is None else self.origin(atom, PART)
        if not isinstance(origin, jex_core.Var) or origin in self._producers:
            return False
        return _jaxpr.is_inexact(origin) and all(map(self.is_argument, self._outer.get(origin, [])))

    def is_vector(self, atom: Any) -> bool:
        """Return whether `atom` may be a bias or a scale: a vector argument, possibly broadcast."""
        shapes = [_jaxpr.abstract(view).shape for view in self.views(atom, PART)]
        flat = any(shape and sum(n != 1 for n in shape) <= 1 for shape in shapes)
        return flat and self.is_argument(atom)

    def is_bias(self, atom: Any) -> bool:
        """Return whether `atom` is a vector that is only added or scaled; data has other uses."""
        return self.is_vector(atom) and all(
            user is None or user.primitive.name in {"add", "mul", "square", "integer_pow"}
            for user in self._consumers(self.origin(atom, PART), PART)
        )

    def is_linear(self, atom: Any) -> bool:
        """Return whether `atom` is a matrix product, or a sum of such products and biases."""
        eqn = self.producer(self.origin(atom))
        if eqn is None:
            return False
        if eqn.primitive.name == "add":
            terms = [self.is_linear(v) or self.is_bias(v) for v in eqn.invars]
            return all(terms) and any(self.is_linear(v) for v in eqn.invars)
        return eqn.primitive.name in PRODUCTS and contracts(eqn)


def number(atom: Any) -> float | None:
    """Return the value of a floating point literal, or None for anything else."""
    if not isinstance(atom, jex_core.Literal):
        return None
    return float(atom.val) if _jaxpr.is_inexact(atom) else None


def contracts(eqn: jex_core.JaxprEqn) -> bool:
    """Return whether a product sums over a dimension; `einsum` emits outer products that do not."""
    dimensions = eqn.params["dimension_numbers"] if eqn.primitive.name == "dot_general" else None
    return dimensions is None or len(dimensions[0][0]) > 0


def _is_astype(eqn: jex_core.JaxprEqn) -> bool:
    if eqn.primitive.name != "convert_element_type" or _jaxpr.is_inexact(eqn.invars[0]):
        return False
    return source.is_written(eqn)

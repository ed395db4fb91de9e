"""What the code of a port means: frozen data that know nothing of `ast`.

A port is written as `ast` nodes, because most passes rewrite Python as Python. A node says what is
written, and carries one of these as its meaning: `on_expression(code)` has the `Op` that an
expression computes, the `Helper` that it calls, and the `Number`, the `Key`, the `Stop` and the
`Part` that it is, and `param_paths.of(code)` returns its `Param`. A statement carries its
`UpdateBuffer`, and a loop whose number of iterations is a size its `Loop`.
"""

from __future__ import annotations

import builtins
import dataclasses
import enum


class NameOf(enum.Enum):
    """What the name of a number refers to in the torch program."""

    ATTRIBUTE = "attribute"  # of a module or an object
    ARGUMENT = "argument"  # a parameter of the function
    GLOBAL = "global"  # a constant of the file
    FORMULA = "formula"  # a variable, or nothing: the number is computed from numbers with names
    VARIABLE = "variable"  # a variable before a loop that assigns it; `local` is its name


class Form(enum.Enum):
    """How the port writes a number."""

    VALUE = "value"  # as a literal or a formula
    OMITTED = "omitted"  # not at all: it is the default of an option, written to compare two calls
    KEYWORD = "keyword"  # as a keyword of the function
    CONSTANT = "constant"  # as a constant of the port's file


@dataclasses.dataclass(frozen=True)
class Number:
    """A number that is known when the port is written, with the author's names for it.

    A flag counts as a number, and so does the key of the params in which copies of a function
    differ.

    Attributes:
        value: The number.
        name: The name of its attribute, argument, constant or option, or "". It names the keyword
            that the number becomes where copies of a function differ in it.
        name_of: What `name` refers to, if the port may still write the name in place of the number.
        local: The variable of the torch program that holds it, or "".
        form: How the port writes it.
        order: Where the torch file defines the constant, among the names of the file.
    """

    value: float | str
    name: str = ""
    name_of: NameOf | None = None
    local: str = ""
    form: Form = Form.VALUE
    order: int = 0

    @property
    def typed(self) -> tuple[type, float | str]:
        """The value with its type, because 1 and 1.0 are written differently."""
        return type(self.value), self.value

    @property
    def has_author_name(self) -> bool:
        """Whether the port may still write the author's name for the number."""
        return self.form is Form.VALUE and self.name_of not in (None, NameOf.VARIABLE)

    @property
    def keyword(self) -> str:
        """The name of the keyword that the number becomes: `heads` for `_heads` and `HEADS`."""
        if self.name_of in (NameOf.GLOBAL, NameOf.FORMULA) and self.local:
            name = self.local
        else:
            name = (self.name.lower() if self.name.isupper() else self.name).strip("_")
        return f"{name}_value" if hasattr(builtins, name) else name

    def without_author(self) -> Number:
        """Return the number as it is written where the author's name cannot be used."""
        return dataclasses.replace(self, name_of=None)


@dataclasses.dataclass(frozen=True)
class Op:
    """An operator of torch that an expression of the port computes.

    Attributes:
        name: torch's name in the words of `rules/names.py`: "relu" for the function, the method
            and the change in place, "linalg.norm" for `torch.linalg.norm`.
        functional: Whether the expression is a call of the function of `jaxgrad.functional` with
            this name. Its arguments are then parameters of that function.
    """

    name: str
    functional: bool = False


class Helper(enum.Enum):
    """A function that the port calls and that is not an operator of torch, by its written name."""

    ARRAY = "jnp.array"
    CHECKPOINT = "jax.checkpoint"
    COND = "lax.cond"
    ENUMERATE = "enumerate"
    GRAD = "jax.grad"
    LIST = "list"
    PARTIAL = "partial"
    NNX_CACHE = "nnx.Cache"
    NNX_CLONE = "nnx.clone"
    NNX_DICT = "nnx.Dict"
    NNX_IDENTITY = "nnx.identity"
    NNX_LIST = "nnx.List"
    NNX_SEQUENTIAL = "nnx.Sequential"


class ArrayProperty(enum.Enum):
    """A property of an array that JAX knows when it traces."""

    SHAPE = "shape"
    NDIM = "ndim"
    SIZE = "size"
    DTYPE = "dtype"


class Initial(enum.Enum):
    """Where the first values of a variable of a flax class come from."""

    EMPTY = "empty"  # the constructor sets none: `jnp.empty`
    TORCH = "torch"  # the constructor has the numbers of torch's tensor


@dataclasses.dataclass(frozen=True)
class Loop:
    """A loop of the torch program whose number of iterations is computed from a size.

    The port has it as a Python loop, which JAX unrolls: a traced program has its body once for each
    iteration. `Program.growing` has the loops whose number depends on the sizes of the inputs.

    Attributes:
        file: The file of the torch program.
        line: The line of the loop.
    """

    file: str
    line: int


@dataclasses.dataclass(frozen=True)
class Key:
    """The key of one random draw, which is read where the draw is.

    A printer names the keys of a function and splits them off its own key.

    Attributes:
        label: What is drawn, or the module that draws, such as "dropout". It begins the key's name.
    """

    label: str


@dataclasses.dataclass(frozen=True)
class Param:
    """A part of the params of a function: the params of a submodule, or one tensor.

    Attributes:
        path: The keys from the owner on; numbers are positions in lists.
        owner: The variable that holds the params: `p`, or the variable of a loop over modules.
    """

    path: tuple[str | int, ...] = ()
    owner: str = "p"

    def at(self, key: str | int) -> Param:
        """Return a part of this part."""
        return Param((*self.path, key), self.owner)

    def is_in(self, other: Param) -> bool:
        """Return whether this is the other part, or a part of it."""
        start = self.path[: len(other.path)]
        return self.owner == other.owner and start == other.path


@dataclasses.dataclass(frozen=True)
class UpdateBuffer:
    """A new value of a part of the params, as where torch changes a buffer in place.

    The statement with this fact assigns the value to its place, such as `p["norm"]["mean"]`. A
    printer lets it change a copy of the params, because those of the caller stay as they are.

    Attributes:
        hooked: Whether the value is the parameter that is in this place, with its hooks.
    """

    hooked: bool = False


@dataclasses.dataclass(frozen=True)
class Stop:
    """A value through which no gradient goes: torch detaches it, or computes it in `no_grad`."""


class How(enum.Enum):
    """How a torch module reaches a part of itself."""

    ATTRIBUTE = "attribute"
    ITEM = "item"  # of a list
    KEY = "key"  # of a dict


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of a torch module that the port reaches in the params.

    Attributes:
        module: The path of the module.
        name: The name of the part in the module.
        how: How the module reaches it, which a flax class does too.
        siblings: For a tensor, the names of all parts of the module, and None for a submodule.
    """

    module: str
    name: str
    how: How
    siblings: frozenset[str] | None = None

    @property
    def path(self) -> str:
        """The path of the part."""
        return f"{self.module}.{self.name}" if self.module else self.name

"""Define parity cases: a JAX function, its inputs, and the claim that it matches a torch program.

    @case(
        inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1)),
        idiom=("h.detach()", "lax.stop_gradient(h)"),
        control=dict(stop_gradient=identity),
    )
    def detach(net, x, y, *, stop_gradient=lax.stop_gradient):
        '''`detach` after L1 leaves L1 without gradients (None, not zero); L2 keeps its own.'''

The JAX function is called the twin. Its torch reference is the function of the same name in the
file of the same name: `torch_ref/<theme>.py::<behaviour>`, called with the same inputs.
"""

import dataclasses
import functools
import importlib
import inspect
import pkgutil
import types
from collections.abc import Callable, Mapping
from typing import Any

import jaxgrad
from jaxgrad.parity.compare import Raises as Raises
from jaxgrad.parity.compare import Tolerance as Tolerance


DTYPES = ("float64", "float32", "bfloat16", "float16")
MODES = ("eager", "jit")

# These functions only observe or differentiate. A program cannot run without them, so they cannot
# serve as a negative control.
_NOT_TOOLS = {"accumulate", "depends_on", "grad", "saved_bytes", "value_and_grad"}
_NOT_TOOLS |= {"value_and_retained_grads"}
_HELPERS = {name for name, value in vars(jaxgrad).items() if callable(value)}
_TOOLS = _HELPERS - _NOT_TOOLS | {
    "checkpoint",
    "clip_by_global_norm",
    "custom_jvp",
    "custom_vjp",
    "set_to_zero",
    "stop_gradient",
    "where",
}


class CaseError(Exception):
    """A case cannot be loaded; the message names the missing part and the file to write it in."""


@dataclasses.dataclass(frozen=True)
class Deviation:
    """A documented disagreement between torch and JAX, with the expected result of each framework.

    Each expectation (a pin) is a `Raises`, or a function from the case's numpy inputs to the
    expected observation, whose leaves may be `Raises`. The suite fails when a result changes.
    """

    why: str
    torch_is: Raises | Callable[..., Any]
    jax_is: Raises | Callable[..., Any]


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Case:
    """One behaviour: its JAX function, its inputs, its claim, and its negative control.

    Attributes:
        fun: The JAX function (the twin); its docstring is the claim.
        theme: The stem of the file that defines the function.
        behaviour: The name of the function, which the reference in `torch_ref` shares.
        inputs: Argument name -> tree of `parity_tests.inputs` descriptors and static values.
        idiom: The code that a user writes in torch and in JAX; each snippet must fit into a table
            cell.
        source: Optional ids of the rows that the case covers: `S0-02` in a source document, or
            `P155` in the catalogue.
        control: Keyword arguments that replace the tool under test (say, `stop_gradient`) by a
            no-op. By default the control perturbs an input; only a program without a tool may use
            this default.
        deviation: The pinned disagreement, where torch and JAX differ by design.
        expect: Path in the observation -> value stated by the source document, checked in both
            frameworks for seed 0.
        dtypes: Dtypes of the floating-point inputs.
        modes: "eager", "jit" or both.
        tolerance: A non-default tolerance, with its reason.
        zeros: Whether the claim is that the observation holds only zeros.
        heavy: Whether the case may take up to 60 s.
        picture: Whether the documentation shows the case's backward graphs.
        devices: The devices that support the behaviour.
        inputs_of: The id of a case with the same inputs, whose numbers this case uses too, so that
            a notebook can compare their results. By default each case has numbers of its own.
    """

    fun: Callable[..., Any]
    theme: str
    behaviour: str
    inputs: Mapping[str, Any]
    idiom: tuple[str, str]
    source: tuple[str, ...] = ()
    control: Mapping[str, Any] | None = None
    deviation: Deviation | None = None
    expect: Mapping[str, Any] | None = None
    dtypes: tuple[str, ...] = ("float64", "float32")
    modes: tuple[str, ...] = MODES
    tolerance: Tolerance | None = None
    zeros: bool = False
    heavy: bool = False
    picture: bool = False
    devices: tuple[str, ...] = ("cpu", "gpu", "tpu")
    inputs_of: str = ""

    @property
    def seed_name(self) -> str:
        """The name from which the random numbers of the inputs follow."""
        return self.inputs_of or self.id

    @property
    def id(self) -> str:
        return f"{self.theme}/{self.behaviour}"

    def tolerance_in(self, dtype: str) -> Tolerance | None:
        """Return the tolerance of the cells in a dtype, or None if they have the usual rules."""
        applies = self.tolerance is not None and self.tolerance.dtype in ("", dtype)
        return self.tolerance if applies else None

    @property
    def claim(self) -> str:
        return inspect.cleandoc(self.fun.__doc__ or "")

    @property
    def control_kind(self) -> str:
        return "perturbation" if self.control is None else "tool"

    @property
    def reference(self) -> Callable[..., Any]:
        """The torch program of the same name; accessing it imports torch."""
        where = f"torch_ref/{self.theme}.py"
        try:
            module = importlib.import_module(f"torch_ref.{self.theme}")
        except ModuleNotFoundError as error:
            if error.name != f"torch_ref.{self.theme}":
                raise
            raise CaseError(f"{self.id} has no reference: there is no {where}") from None
        fun = getattr(module, self.behaviour, None)
        if fun is None:
            raise CaseError(f"{self.id} has no reference: write `def {self.behaviour}` in {where}")
        wanted, got = tuple(self.inputs), tuple(inspect.signature(fun).parameters)
        if wanted != got:
            raise CaseError(
                f"{where}::{self.behaviour} takes {got}, but the case's inputs are {wanted}"
            )
        return fun

    def without_tool(self) -> Callable[..., Any]:
        """Return the program with its tool replaced by a no-op: the negative control."""
        return functools.partial(self.fun, **(self.control or {}))


_registry: dict[str, Case] = {}


def identity(x: Any, *args: Any, **kwargs: Any) -> Any:
    """Return `x`; negative controls substitute this function for a tool."""
    del args, kwargs
    return x


def case(
    *, source: str | tuple[str, ...] = (), **options: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as the JAX counterpart of the torch reference of the same name.

    Args:
        source: The ids of the source rows that the case covers, if any.
        options: The other attributes of `Case`; `inputs` and `idiom` are required.

    Raises:
        CaseError: An option is missing, unknown or inconsistent; the message names the option and
            the case.
    """

    def register(fun: Callable[..., Any]) -> Callable[..., Any]:
        theme = fun.__module__.rsplit(".", 1)[-1]
        rows = (source,) if isinstance(source, str) else tuple(source)
        try:
            record = Case(fun=fun, theme=theme, behaviour=fun.__name__, source=rows, **options)
        except TypeError as error:
            words = str(error).replace("Case.__init__()", "@case")
            where = f"parity_tests/cases/{theme}.py::{fun.__name__}"
            raise CaseError(f"{where}: {words}; `Case` lists the options") from None
        _check(record)
        _registry[record.id] = record
        return fun

    return register


def load() -> dict[str, Case]:
    """Import every module of `parity_tests.cases` and return the cases by id, sorted by theme."""
    package = importlib.import_module("parity_tests.cases")
    for module in sorted(info.name for info in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"parity_tests.cases.{module}")
    for record in _registry.values():
        shared = _registry.get(record.inputs_of)
        if record.inputs_of and (shared is None or shared.inputs != record.inputs):
            raise CaseError(
                f"{record.id} has inputs_of={record.inputs_of!r}, which is not a case with the "
                "same inputs"
            )
    # A test may have imported one theme before the others, so sort instead of using import order.
    return dict(sorted(_registry.items(), key=lambda item: item[1].theme))


def _check(record: Case) -> None:
    where = f"parity_tests/cases/{record.theme}.py::{record.behaviour}"
    previous = _registry.get(record.id)
    if previous is not None and previous.fun.__module__ == record.fun.__module__:
        # A reloaded module (a mutant, a notebook) may register its own cases again.
        if previous.fun.__code__.co_firstlineno != record.fun.__code__.co_firstlineno:
            raise CaseError(f"{where} is registered twice; give one of them another name")
    if not record.claim:
        raise CaseError(f"{where} has no docstring: state in a sentence what a torch user will see")
    if record.deviation is not None and not record.deviation.why.strip():
        raise CaseError(f"{where} pins a deviation without a reason; fill in why=")
    if record.tolerance is not None and not record.tolerance.why.strip():
        raise CaseError(f"{where} sets tolerance= without a reason; fill in why=")
    for name, known in (("dtypes", DTYPES), ("modes", MODES)):
        unknown = set(getattr(record, name)) - set(known)
        if unknown or not getattr(record, name):
            raise CaseError(f"{where} has {name}={getattr(record, name)}; choose from {known}")
    parameters = inspect.signature(record.fun).parameters
    positional = tuple(n for n, p in parameters.items() if p.kind is not p.KEYWORD_ONLY)
    if positional != tuple(record.inputs):
        raise CaseError(f"{where} takes {positional}, but inputs= gives {tuple(record.inputs)}")
    for name in record.control or {}:
        if name not in parameters or parameters[name].kind is not inspect.Parameter.KEYWORD_ONLY:
            raise CaseError(
                f"{where} has control={name!r}, which is not one of its keyword arguments"
            )
    if record.control is None:
        used = sorted(_names(record.fun) & _TOOLS)
        if used:
            raise CaseError(
                f"{where} uses {', '.join(used)} but has no control=. Make the tool a keyword "
                "argument and replace it by a no-op: control=dict(stop_gradient=identity)"
            )


def _names(fun: Callable[..., Any]) -> set[str]:
    """Return every name used by a function and by the functions it calls in the same module."""
    visited: set[Any] = set()
    names: set[str] = set()

    def visit(code: types.CodeType) -> None:
        if code in visited:
            return
        visited.add(code)
        names.update(code.co_names, code.co_freevars)
        for const in code.co_consts:
            if isinstance(const, types.CodeType):
                visit(const)
        for name in code.co_names:
            value = fun.__globals__.get(name)
            if inspect.isfunction(value) and value.__module__ == fun.__module__:
                visit(value.__code__)

    visit(fun.__code__)
    for default in (fun.__kwdefaults__ or {}).values():
        names.add(getattr(default, "__name__", ""))
    return names

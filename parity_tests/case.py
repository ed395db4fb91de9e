"""Cases: a torch reference's functional twin in JAX, with its inputs and its claim.

    @case(
        inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1)),
        idiom=("h.detach()", "lax.stop_gradient(h)"),
        control=dict(stop_gradient=identity),
    )
    def detach(net, x, y, *, stop_gradient=lax.stop_gradient):
        '''`detach` after L1 leaves L1 without gradients (None, not zero); L2 keeps its own.'''

The reference is `torch_ref/<theme>.py::<behaviour>`: same stem, same name, same inputs.
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

# These only observe or differentiate: without them there is no program left, so they are not tools.
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
    """A case cannot be loaded; the text says what is missing and where to write it."""


@dataclasses.dataclass(frozen=True)
class Deviation:
    """A documented disagreement, pinned on both sides so that the suite fails when one changes.

    Each pin is a `Raises`, or a function from the case's inputs (numpy) to the observation. A leaf
    of that observation may be a `Raises` too.
    """

    why: str
    torch_is: Raises | Callable[..., Any]
    jax_is: Raises | Callable[..., Any]


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Case:
    """One behaviour: its twin in JAX, its inputs, its claim, and how to show that it can fail.

    Attributes:
        fun: The twin; its docstring is the claim.
        theme: The stem of its file.
        behaviour: Its name, which the reference in `torch_ref` shares.
        inputs: Argument name -> tree of `parity_tests.inputs` descriptors and static values.
        idiom: What a user writes in torch and in JAX; each fits into a table cell.
        source: Optional rows that it covers: `S0-02`, or `P155` of the catalogue.
        control: Keyword arguments that take the tool out of the program. Without them the control
            is a perturbed input, which is allowed only if the program has no tool.
        deviation: The pinned disagreement, where torch and JAX differ by design.
        expect: Path -> a number that the source states, checked on both sides for seed 0.
        dtypes: Dtypes of the floating inputs.
        modes: "eager", "jit" or both.
        tolerance: A bound other than the default, with its reason.
        zeros: The observation holds only zeros, and that is the claim.
        heavy: The case may take up to 60 s.
        picture: The documentation shows its backward graphs.
        devices: Where the behaviour exists.
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

    @property
    def id(self) -> str:
        return f"{self.theme}/{self.behaviour}"

    @property
    def claim(self) -> str:
        return inspect.cleandoc(self.fun.__doc__ or "")

    @property
    def control_kind(self) -> str:
        return "perturbation" if self.control is None else "tool"

    @property
    def reference(self) -> Callable[..., Any]:
        """The torch program of the same name. Importing it needs torch."""
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
                f"{where}::{self.behaviour} takes {got}, the case's inputs are {wanted}"
            )
        return fun

    def without_tool(self) -> Callable[..., Any]:
        """Return the program with its tool taken out: the negative control."""
        return functools.partial(self.fun, **(self.control or {}))


_registry: dict[str, Case] = {}


def identity(x: Any, *args: Any, **kwargs: Any) -> Any:
    """Return `x`: the control puts this function in the place of a tool."""
    del args, kwargs
    return x


def case(
    *, source: str | tuple[str, ...] = (), **options: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function as the functional twin of the torch reference of the same name.

    Args:
        source: The row or rows that the case covers, if any.
        options: The other attributes of `Case`; `inputs` and `idiom` are required.

    Raises:
        CaseError: An option is missing, unknown or inconsistent; the text names it and its place.
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
    # A test may have imported one theme before the others, so registration order is not enough.
    return dict(sorted(_registry.items(), key=lambda item: item[1].theme))


def _check(record: Case) -> None:
    where = f"parity_tests/cases/{record.theme}.py::{record.behaviour}"
    previous = _registry.get(record.id)
    if previous is not None and previous.fun.__module__ == record.fun.__module__:
        # A reloaded module (a mutant, a notebook) registers its own cases again, which is fine.
        if previous.fun.__code__.co_firstlineno != record.fun.__code__.co_firstlineno:
            raise CaseError(f"{where} is registered twice; give one of them another name")
    if not record.claim:
        raise CaseError(f"{where} has no docstring: say in a sentence what a torch user will see")
    if record.deviation is not None and not record.deviation.why.strip():
        raise CaseError(f"{where} pins a deviation without a reason; fill in why=")
    if record.tolerance is not None and not record.tolerance.why.strip():
        raise CaseError(f"{where} has a tolerance of its own without a reason; fill in why=")
    for name, known in (("dtypes", DTYPES), ("modes", MODES)):
        unknown = set(getattr(record, name)) - set(known)
        if unknown or not getattr(record, name):
            raise CaseError(f"{where} has {name}={getattr(record, name)}; known are {known}")
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
                f"{where} uses {', '.join(used)} but has no control of its own. Make the tool a "
                "keyword argument and take it out: control=dict(stop_gradient=identity)"
            )


def _names(fun: Callable[..., Any]) -> set[str]:
    """Return every name used by a function and by the functions of its module that it calls."""
    seen: set[Any] = set()
    names: set[str] = set()

    def visit(code: types.CodeType) -> None:
        if code in seen:
            return
        seen.add(code)
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

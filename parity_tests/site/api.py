"""The API pages of the site: every public name of `jaxgrad`, at the shortest path it can be had by.

A page is a theme (`jaxgrad/hooks.py`, `jaxgrad/graph/`), so a new helper, file or folder appears by
itself. The pages name what there is; sphinx reads the docstrings.
"""

import ast
import importlib
import inspect
import pkgutil
import re
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jaxgrad


# A sentence in the docstring of each operator of the table, beside torch's name for it.
POINTER = "Gradient conventions: docs/operators.md."


DIFFERS = re.compile(r"^Differs from (\w+) in:(.*?)(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)


class Entry(NamedTuple):
    """One public name."""

    module: str  # where a user imports it from
    name: str
    value: Any

    @property
    def theme(self) -> str:
        """The file or folder of `jaxgrad` that it is written in."""
        return self.value.__module__.split(".")[1]

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def doc(self) -> str:
        return inspect.getdoc(self.value) or ""

    @property
    def sentence(self) -> str:
        made_up = self.doc.startswith(f"{self.name}(")  # by NamedTuple
        return "" if made_up else " ".join(self.doc.partition("\n\n")[0].split())

    @property
    def torch(self) -> str:
        """The line that names its counterpart."""
        found = re.search(r"^Torch: (.*?)(?:\n\n|\Z)", self.doc, re.MULTILINE | re.DOTALL)
        return " ".join(found[1].replace(POINTER, "").split()) if found else ""

    @property
    def differs(self) -> list[tuple[str, str]]:
        """From what it differs, and in what: the numbered list as markdown."""
        return [(what, inspect.cleandoc(text)) for what, text in DIFFERS.findall(self.doc)]


def entries() -> list[Entry]:
    """Every public name once, in the order of the surface."""
    seen: set[int] = set()
    found = []
    for module in sorted(_modules(), key=lambda module: module.__name__.count(".")):
        for name, value in vars(module).items():
            if _is_public(module, name, value) and id(value) not in seen:
                seen.add(id(value))
                found.append(Entry(module.__name__, name, value))
    return found


def pages() -> dict[str, str]:
    """A page a theme, and one that lists everything with torch's name for it."""
    themes: dict[str, list[Entry]] = {}
    for entry in entries():
        themes.setdefault(entry.theme, []).append(entry)
    for of in themes.values():  # what one calls, then what it returns
        of.sort(key=lambda entry: inspect.isclass(entry.value))
    made = {f"api/{theme}.md": _page(theme, of) for theme, of in themes.items()}
    return {"api/index.md": _index(themes), **made}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in markdown."""
    lines = [head, ["---"] * len(head), *rows]
    cells = ([cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def prose(text: str) -> str:
    """Text of a docstring in markdown: outside its code `_`, `*` and `<` are themselves."""
    return re.sub(r"`[^`]*`|([_*<])", lambda found: f"\\{found[1]}" if found[1] else found[0], text)


def code(text: str) -> str:
    """Code in a line of markdown."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def boxed(name: str, *parts: str) -> str:
    """Parts that the style sheet finds by a name."""
    return "\n\n".join([f"::::{{container}} {name}", *parts, "::::"])


def toctree(names: Iterable[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", *names, "```"])


def _modules() -> Iterator[types.ModuleType]:
    """The surface, its files and its packages; of a package only what it lists itself."""
    yield jaxgrad
    for info in pkgutil.iter_modules(jaxgrad.__path__):
        if not info.name.startswith("_"):
            try:
                module = importlib.import_module(f"jaxgrad.{info.name}")
            except Exception:
                if info.name == "nnx":  # flax may not import with a JAX that is newer than it
                    continue
                raise
            yield module
            yield from _listed(module)


def _listed(package: types.ModuleType) -> Iterator[types.ModuleType]:
    """The modules that a package has in its list: `from jaxgrad.optim import lr_scheduler`."""
    for node in ast.walk(ast.parse(inspect.getsource(package))):
        if isinstance(node, ast.ImportFrom) and node.module == package.__name__:
            for alias in node.names:
                yield importlib.import_module(f"{package.__name__}.{alias.name}")


def _is_public(module: types.ModuleType, name: str, value: Any) -> bool:
    """A documented function or class: what a package or a part of it lists, or a file defines."""
    if not (inspect.isfunction(value) or inspect.isclass(value)):
        return False
    if name.startswith("_") or not value.__doc__:
        return False
    home, here = value.__module__, module.__name__
    if here.count(".") < 2 and not hasattr(module, "__path__"):
        return home == here
    return home.startswith(".".join(here.split(".")[:2]) + ".")


def _index(themes: dict[str, list[Entry]]) -> str:
    parts = [
        "# API",
        "Every public name, by theme. `import jaxgrad` needs jax and optax, never torch; what a "
        "helper is called in torch is in the last column.",
    ]
    for theme, of in themes.items():
        rows = [[link(entry), prose(entry.sentence), prose(entry.torch)] for entry in of]
        parts += [f"## {theme}", table(("", "what it does", "torch"), rows)]
    return "\n\n".join([*parts, toctree(themes), ""])


def _page(theme: str, of: list[Entry]) -> str:
    intro = inspect.getdoc(importlib.import_module(f"jaxgrad.{theme}")) or ""
    # A table of files is for who works on them.
    intro = re.sub(r"(?:^\|.*\n)+\n?", "", intro, flags=re.MULTILINE)
    parts = [f"# {theme}", prose(intro)]
    for entry in of:
        kind = "autoclass" if inspect.isclass(entry.value) else "autofunction"
        members = "\n   :members:" if kind == "autoclass" else ""
        parts.append(
            f"```{{eval-rst}}\n.. currentmodule:: {entry.module}\n\n"
            f".. {kind}:: {entry.name}{members}\n```"
        )
    return "\n\n".join([*parts, ""])


def link(entry: Entry) -> str:
    shown = entry.path.removeprefix("jaxgrad.")
    return f"{{py:obj}}`{shown} <{entry.path}>`"

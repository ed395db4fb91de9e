"""Generate the API pages of the site: every public name of `jaxgrad` at its shortest import path.

Each file or folder (`jaxgrad/hooks.py`, `jaxgrad/graph/`) has a page, so a new helper, file or
folder appears automatically. The pages only list names; sphinx inserts the docstrings.
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


# The docstring of each operator in the conventions table contains this, next to torch's name.
POINTER = "Gradient conventions: docs/operators.md."


DIFFERS = re.compile(r"^Differs from (\w+) in:(.*?)(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)


class Entry(NamedTuple):
    """A public name of `jaxgrad`."""

    module: str  # the module that a user imports it from
    name: str
    value: Any

    @property
    def theme(self) -> str:
        """The file or folder that defines it, or the namespace in a folder that exports it.

        The operators of `jaxgrad.functional` have a theme for each of its folders.
        """
        defined, exported = (path.split(".")[1:] for path in (self.value.__module__, self.module))
        if defined[0] == "functional":
            return ".".join(defined[:2])
        return ".".join(exported) if len(exported) > 1 else defined[0]

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def doc(self) -> str:
        return inspect.getdoc(self.value) or ""

    @property
    def sentence(self) -> str:
        generated = self.doc.startswith(f"{self.name}(")  # NamedTuple wrote it
        return "" if generated else " ".join(self.doc.partition("\n\n")[0].split())

    @property
    def torch(self) -> str:
        """The `Torch:` line of the docstring, which names the counterpart in torch."""
        line = re.search(r"^Torch: (.*?)(?:\n\n|\Z)", self.doc, re.MULTILINE | re.DOTALL)
        return " ".join(line[1].replace(POINTER, "").split()) if line else ""

    @property
    def differs(self) -> list[tuple[str, str]]:
        """Each `Differs from ... in:` section: the library and the numbered list as markdown."""
        return [(what, inspect.cleandoc(text)) for what, text in DIFFERS.findall(self.doc)]


def entries() -> list[Entry]:
    """Return every public name once, in the order in which `jaxgrad` exports them."""
    listed: set[int] = set()
    public = []
    for module in sorted(_modules(), key=lambda module: module.__name__.count(".")):
        for name, value in vars(module).items():
            if _is_public(module, name, value) and id(value) not in listed:
                listed.add(id(value))
                public.append(Entry(module.__name__, name, value))
    return public


def pages() -> dict[str, str]:
    """Return one page per theme, and an index of all names with their torch counterparts."""
    themes: dict[str, list[Entry]] = {}
    for entry in entries():
        themes.setdefault(entry.theme, []).append(entry)
    for of in themes.values():  # functions first, then classes
        of.sort(key=lambda entry: inspect.isclass(entry.value))
    parents = dict.fromkeys(theme.partition(".")[0] for theme in themes)
    theme_pages = {
        f"api/{theme}.md": _page(theme, themes.get(theme, []), _rooms(theme, themes))
        for theme in {**parents, **themes}
    }
    return {"api/index.md": _index(themes, parents), **theme_pages}


def _rooms(theme: str, themes: Iterable[str]) -> list[str]:
    """Return the themes that belong to a theme, as `optim.lr_scheduler` to `optim`."""
    return [room for room in themes if room.startswith(f"{theme}.")]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format a table in markdown."""
    lines = [head, ["---"] * len(head), *rows]
    cells = ([cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def prose(text: str) -> str:
    """Convert docstring text to markdown by escaping `_`, `*` and `<` outside of code."""
    return re.sub(
        r"`[^`]*`|([_*<])", lambda public: f"\\{public[1]}" if public[1] else public[0], text
    )


def code(text: str) -> str:
    """Format inline code in markdown."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def boxed(name: str, *parts: str) -> str:
    """Wrap parts in a container with a class name for the style sheet."""
    return "\n\n".join([f"::::{{container}} {name}", *parts, "::::"])


def toctree(names: Iterable[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", *names, "```"])


def _modules() -> Iterator[types.ModuleType]:
    """Yield `jaxgrad`, its public modules, and the modules that its packages export."""
    yield jaxgrad
    for info in pkgutil.iter_modules(jaxgrad.__path__):
        if not info.name.startswith("_"):
            try:
                module = importlib.import_module(f"jaxgrad.{info.name}")
            except Exception:
                if info.name == "nnx":  # flax may fail to import under a newer JAX
                    continue
                raise
            yield module
            yield from _listed(module)


def _listed(package: types.ModuleType) -> Iterator[types.ModuleType]:
    """Yield the modules that a package exports, as in `from jaxgrad.optim import lr_scheduler`."""
    for node in ast.walk(ast.parse(inspect.getsource(package))):
        if isinstance(node, ast.ImportFrom) and node.module == package.__name__:
            for alias in node.names:
                yield importlib.import_module(f"{package.__name__}.{alias.name}")


def _is_public(module: types.ModuleType, name: str, value: Any) -> bool:
    """Whether a name is a documented function or class that a package exports or a file defines."""
    if not (inspect.isfunction(value) or inspect.isclass(value)):
        return False
    if name.startswith("_") or not value.__doc__:
        return False
    home, here = value.__module__, module.__name__
    if here.count(".") < 2 and not hasattr(module, "__path__"):
        return home == here
    return home.startswith(".".join(here.split(".")[:2]) + ".")


def _index(themes: dict[str, list[Entry]], pages: Iterable[str]) -> str:
    parts = [
        "# API",
        "Every public name, by theme. `import jaxgrad` needs jax and optax, never torch. The last "
        "column gives the counterpart in torch.",
    ]
    for theme, of in themes.items():
        rows = [[link(entry), prose(entry.sentence), prose(entry.torch)] for entry in of]
        parts += [f"## {theme}", table(("", "purpose", "torch"), rows)]
    return "\n\n".join([*parts, toctree(pages), ""])


def _page(theme: str, of: list[Entry], rooms: list[str]) -> str:
    intro = inspect.getdoc(importlib.import_module(f"jaxgrad.{theme}")) or ""
    # A module's table of files is meant for contributors.
    intro = re.sub(r"(?:^\|.*\n)+\n?", "", intro, flags=re.MULTILINE)
    parts = [f"# {theme}", prose(intro)]
    for entry in of:
        kind = "autoclass" if inspect.isclass(entry.value) else "autofunction"
        members = "\n   :members:" if kind == "autoclass" else ""
        parts.append(
            f"```{{eval-rst}}\n.. currentmodule:: {entry.module}\n\n"
            f".. {kind}:: {entry.name}{members}\n```"
        )
    if rooms:
        listed = [f"[{room.rpartition('.')[2]}]({room}.md)" for room in rooms]
        parts += [f"**Pages:** {' · '.join(listed)}", toctree(rooms)]
    return "\n\n".join([*parts, ""])


def link(entry: Entry) -> str:
    shown = entry.path.removeprefix("jaxgrad.")
    return f"{{py:obj}}`{shown} <{entry.path}>`"

"""The rules of the layout: folders in one import order, no import cycles, private names."""

import ast
import functools
import pathlib
from collections.abc import Iterator

import pytest

from parity_tests.audits.imports import imported_names
from parity_tests.runner.settings import ROOT


PACKAGES = ("jaxgrad", "parity_tests", "torch_ref", "tests", "benchmarks")
# A folder may import its own files and the folders in the lines above it.
FUNCTIONAL = (
    {"_core"},
    {"pointwise"},
    {"activation", "reduction"},
    {"linalg", "special", "pooling"},
    {"nn"},
    {"loss", "indexing"},
    {"fft", "distributions"},
    {"_versions"},
    {"__init__"},
)
PORT = (
    {"ir"},
    {"source"},
    {"values"},
    {"functions"},
    {"expressions"},
    {"rules", "calls", "modes"},
    {"modules", "merging", "statements", "leftovers"},
    {"loops"},
    {"interpretation", "training"},
    {"finish", "proof"},
    {"nnx"},
    {"port", "command", "stages"},
)
PARITY_TESTS = (
    {"case", "inputs"},
    {"runner", "cases", "ports", "port_collection"},
    {"report", "audits"},
    {"pictures", "figures"},
    {"notebook"},
    {"site"},
    {"operators"},
    {"devices"},
    {"__main__"},
)
ORDERS = {
    "jaxgrad.functional": FUNCTIONAL,
    "jaxgrad.parity.port": PORT,
    "parity_tests": PARITY_TESTS,
}
# The notebook of a theme, if its name differs from the theme's.
NOTEBOOKS = {
    "autograd": "none_or_zero",
    "checkpointing": "memory",
    "mobilenet": "freezing",
    "precision": "clipping",
    "retain_graph": "mutation",
    "surrogate": "custom",
    "swa_utils": "lr_scheduler",
}
# Where the porter reads or sets the `__dict__` of an object of the user's program: file -> object.
OBJECTS_OF_USERS = {
    "calls/recomputation.py": {"kind"},
    "functions/autograd_functions.py": {"kind"},
    "leftovers/snapshots.py": {"x"},
    "values/static_inputs.py": {"new"},
    "values/values.py": {"made"},
}

# Where the porter sets a field of an argument: on objects of the user's program, whose assignments
# it runs, and in one module until a block ends.
FIELDS_OF_USERS = {
    ("functions/made_objects.py", "owner.real.<name>"),
    ("statements/stores.py", "owner.real.<name>"),
    ("values/settings.py", "owner.<name>"),
    ("values/static_inputs.py", "module.forward"),
}
# Where the porter recognises code that it has not written by its text or by a name in it, such as
# the source of the torch program: file -> the expressions that do so.
CODE_OF_USERS = {
    "expressions/positions.py": {"ast.Name('int')"},
    "finish/result_names.py": {"syntax.called(code)"},
    "interpretation/statements.py": {
        "syntax.called(node.value)",
        "syntax.called(node.value) == 'warnings.warn'",
    },
    "loops/loops.py": {"ast.Name('list')", "ast.Name('zip')"},
    "merging/branch_tests.py": {"'None' not in syntax.text(node)"},
    "proof/step_verifying.py": {
        "ast.dump(ast.parse(step.source)) == ast.dump(ast.parse(step.proved))"
    },
    "source/source.py": {"inner.attr.startswith('__')", "inner.attr.endswith('__')"},
}
# Variables and parameters of a port, which are their names.
VARIABLES = {"self", "_", "h", "PARAMS", "RESERVED", "TRAINING"}
TEXTS = {"ast.dump", "ast.unparse", "syntax.called", "syntax.dotted_name", "syntax.text"}


@functools.cache
def files() -> dict[str, pathlib.Path]:
    """Return every Python file of the project by its dotted name."""
    paths = [p for package in PACKAGES for p in sorted((ROOT / package).rglob("*.py"))]
    goldens = ROOT / "tests" / "goldens"
    return {_dotted(path): path for path in paths if goldens not in path.parents}


def _dotted(path: pathlib.Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def imports(module: str) -> tuple[str, ...]:
    """Return every dotted name that a file imports: at the top, lazily, or only for types."""
    names = imported_names(files()[module])
    return tuple(sorted(name for name in names if name.split(".")[0] in PACKAGES))


def _file(name: str) -> str | None:
    """Return the dotted name of the file that an imported name refers to or is defined in."""
    if name in files():
        return name
    parent = name.rpartition(".")[0]
    return parent if parent in files() else None


@functools.cache
def imported_files(module: str) -> frozenset[str]:
    return frozenset(f for name in imports(module) if (f := _file(name)) and f != module)


def _circles() -> Iterator[list[str]]:
    """Yield each import cycle once, as the path that closes it."""
    done: set[str] = set()

    def visit(module: str, path: list[str]) -> Iterator[list[str]]:
        if module in path:
            yield [*path[path.index(module) :], module]
            return
        if module in done:
            return
        for other in sorted(imported_files(module)):
            yield from visit(other, [*path, module])
        done.add(module)

    for module in files():
        yield from visit(module, [])


def test_no_two_files_import_each_other():
    """There are no import cycles, not even with lazy imports or imports for types."""
    circles = [" -> ".join(circle) for circle in _circles()]

    assert not circles, "move the code that both files need into a third file:\n" + "\n".join(
        circles[:10]
    )


def _rooms(package: str, order: tuple[set[str], ...]) -> list[str]:
    """Return each import that violates the order of the folders of a package."""
    rank = {room: place for place, rooms in enumerate(order) for room in rooms}
    wrong = []
    for module in files():
        if not module.startswith(f"{package}."):
            continue
        here = module.removeprefix(f"{package}.").split(".")[0]
        for other in sorted(imported_files(module)):
            there = other.removeprefix(f"{package}.").split(".")[0]
            if not other.startswith(f"{package}.") or here == there:
                continue
            if rank[there] >= rank[here]:
                wrong.append(f"{module} imports {other}")
    return wrong


@pytest.mark.parametrize("package, order", ORDERS.items(), ids=list(ORDERS))
def test_a_room_imports_only_rooms_below_it(package, order):
    """Each folder of a package imports only folders that come before it in the order."""
    wrong = _rooms(package, order)

    assert not wrong, "move the imported name to a room below both:\n" + "\n".join(wrong)


def test_every_room_has_its_place_in_the_order():
    """Every folder of these packages is listed in the import order."""
    for package, order in ORDERS.items():
        folder = ROOT / package.replace(".", "/")
        rooms = {path.stem for path in folder.iterdir() if path.suffix in ("", ".py")}
        known = set().union(*order) | {"__init__", "__pycache__", "tables"}
        assert rooms <= known, f"add {rooms - known} of {package} to the order in this file"


def _private(module: str) -> Iterator[str]:
    """Yield each private name that a file imports from outside its folder."""
    here = files()[module].parent.relative_to(ROOT).parts
    for name in imports(module):
        parts = name.split(".")
        for place, part in enumerate(parts):
            if not part.startswith("_") or part.startswith("__"):
                continue
            owner = files().get(".".join(parts[:place]))
            folder = owner.parent.relative_to(ROOT).parts if owner else tuple(parts[:place])
            if here[: len(folder)] != folder:
                yield name
            break


@pytest.mark.parametrize("package", ["jaxgrad", "parity_tests", "torch_ref", "benchmarks"])
def test_a_leading_underscore_means_private_to_the_folder(package):
    """Only files in the same folder, and tests, import a private name."""
    wrong = [
        f"{files()[module].relative_to(ROOT)} imports {name}"
        for module in files()
        if module.split(".")[0] == package
        for name in _private(module)
        if _is_foreign(module, name)
    ]

    assert not wrong, "remove the underscore or move the name:\n" + "\n".join(wrong)


def _is_foreign(module: str, name: str) -> bool:
    """Whether a file may not import a private name.

    The suite and the benchmarks may import from `jaxgrad._core`, and a `__main__` file may import
    from its own package.
    """
    if name.startswith("jaxgrad._core."):
        return module.split(".", maxsplit=1)[0] == "jaxgrad"
    return not (
        module.endswith(".__main__")
        and name.split(".", maxsplit=1)[0] == module.split(".", maxsplit=1)[0]
    )


def _sources(test: pathlib.Path) -> list[pathlib.Path]:
    """Return the file or folder that a test file mirrors; the test's name starts with its name."""
    folder = ROOT / test.parent.relative_to(ROOT / "tests")
    words = test.stem.removeprefix("test_").split("_")
    stems = {"_".join(words[:count]) for count in range(1, len(words) + 1)}
    if folder.name in stems:  # the package as a whole
        return [folder]
    places = [
        path for room in (folder, folder / "_core", folder / "_harness") for path in room.glob("*")
    ]
    return [path for path in places if path.stem.strip("_") in stems]


@pytest.mark.parametrize(
    "test",
    [p for room in ("jaxgrad", "parity_tests") for p in (ROOT / "tests" / room).rglob("test_*.py")],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_a_test_file_mirrors_a_file(test):
    """Each test file `tests/jaxgrad/x/test_y.py` has a source file `jaxgrad/x/y.py`."""
    place = str(test.relative_to(ROOT))

    assert _sources(test), f"{place} mirrors no source file: name it after the file that it tests"


@pytest.mark.parametrize(
    "path",
    [p for p in sorted((ROOT / "jaxgrad").glob("*.py")) if p.name[0] != "_"],
    ids=lambda path: path.name,
)
def test_a_helper_has_its_test_file(path):
    """Each helper module `jaxgrad/x.py` has a test file `tests/jaxgrad/test_x.py`."""
    test = ROOT / "tests" / "jaxgrad" / f"test_{path.name}"

    assert test.exists(), f"write {test.relative_to(ROOT)}"


@pytest.mark.parametrize(
    "theme", [p.stem for p in sorted((ROOT / "torch_ref").glob("*.py")) if p.stem[0] != "_"]
)
def test_a_theme_has_a_case_file_and_a_notebook(theme):
    """Each theme of `torch_ref` has a case file and a notebook, by its name or by `NOTEBOOKS`."""
    assert (ROOT / "parity_tests" / "cases" / f"{theme}.py").exists(), (
        f"write parity_tests/cases/{theme}.py"
    )
    notebook = ROOT / "notebooks" / f"{NOTEBOOKS.get(theme, theme)}.py"
    assert notebook.exists(), f"write {notebook.relative_to(ROOT)}, or add {theme!r} to NOTEBOOKS"
    assert f"{theme}/" in notebook.read_text(), f"{notebook.name} shows no behaviour of {theme}"


def _dict_uses(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the owner of each `owner.__dict__` and `getattr(owner, "__dict__")`."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(owner, "__dict__"):
                yield node.lineno, ast.unparse(owner)
            case ast.Call(ast.Name("getattr" | "setattr"), [owner, ast.Constant("__dict__"), *_]):
                yield node.lineno, ast.unparse(owner)


def _hidden_annotations(sources: dict[str, str]) -> list[str]:
    """Return each use of `__dict__` in files of the porter that may be of an `ast` node."""
    return [
        f"jaxgrad/parity/port/{name}:{line} uses {owner}.__dict__"
        for name, source in sources.items()
        if name != "source/annotations.py"
        for line, owner in _dict_uses(source)
        if owner not in OBJECTS_OF_USERS.get(name, ())
    ]


def test_only_annotations_keep_facts_in_nodes():
    """What the porter knows about an `ast` node is a typed field in `source/annotations.py`."""
    folder = ROOT / "jaxgrad" / "parity" / "port"
    sources = {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*.py")}

    wrong = _hidden_annotations(sources)

    assert not wrong, (
        "declare a field in jaxgrad/parity/port/source/annotations.py and use `on_statement` or "
        "`on_expression`; if this is an object of the user's program, add it to OBJECTS_OF_USERS "
        "in this file:\n" + "\n".join(wrong)
    )
    unused = {n for n in OBJECTS_OF_USERS if not list(_dict_uses(sources[n]))}
    assert not unused, f"remove {unused} from OBJECTS_OF_USERS in this file"


@pytest.mark.parametrize(
    "line",
    [
        'node.__dict__["origin"] = "width"',
        'known = "origin" in node.__dict__',
        'node.__dict__.pop("origin", None)',
        'marks = getattr(node, "__dict__")',
    ],
)
def test_a_fact_in_the_dict_of_a_node_is_found(line):
    """The test above fails for any way to use a node's `__dict__`, even beside a user's object."""
    message = "jaxgrad/parity/port/values/values.py:1 uses node.__dict__"

    assert _hidden_annotations({"values/values.py": line}) == [message]
    assert not _hidden_annotations({"values/values.py": "made.__dict__.update(fields)"})
    assert not _hidden_annotations({"source/annotations.py": line})


def _attributes_set(node: ast.AST) -> Iterator[ast.Attribute]:
    """Yield the attributes that a statement or a call of `setattr` sets or deletes."""
    match node:
        case ast.Assign(targets) | ast.Delete(targets):
            found = targets
        case ast.AugAssign(target) | ast.AnnAssign(target):
            found = [target]
        case ast.Call(ast.Name("setattr" | "delattr"), [owner, *_]):
            found = [ast.copy_location(ast.Attribute(owner, "<name>"), owner)]
        case _:
            found = []
    for target in found:
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        yield from (part for part in parts if isinstance(part, ast.Attribute))


def _fields_set(name: str, source: str) -> list[str]:
    """Return each assignment to a field of an argument, other than a node of `ast`."""
    found = {}
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        types = {a.arg: ast.unparse(a.annotation) for a in arguments if a.annotation is not None}
        own = {n for n, kind in types.items() if not kind.startswith("ast.")}
        for node in ast.walk(function):
            for target in _attributes_set(node):
                owner = target.value
                while isinstance(owner, ast.Attribute):
                    owner = owner.value
                if isinstance(owner, ast.Name) and owner.id in own:
                    text = f"jaxgrad/parity/port/{name}:{owner.lineno} sets {ast.unparse(target)}"
                    found[text] = (name, ast.unparse(target))
    return [text for text, key in found.items() if key not in FIELDS_OF_USERS]


def test_no_function_of_the_porter_sets_a_field_of_an_argument():
    """Only methods change the fields of their class; a pass may rewrite `ast` nodes in place."""
    folder = ROOT / "jaxgrad" / "parity" / "port"

    wrong = [
        text
        for path in sorted(folder.rglob("*.py"))
        for text in _fields_set(str(path.relative_to(folder)), path.read_text())
    ]

    assert not wrong, "give the class a method that says what changes:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    "line",
    [
        "scope.line = node",
        "scope.run.used |= {node}",
        "scope.line, length = node, 0",
        "del scope.line",
        "scope.line: int = 0",
        "setattr(scope, 'line', node)",
    ],
)
def test_a_field_of_an_argument_that_is_set_is_found(line):
    """Each way to set a field of an argument fails; a variable or a field of `self` may be set."""
    source = "def f(self, scope: Scope, node: ast.For):\n    " + line

    (text,) = _fields_set("values/values.py", source)

    assert text.startswith("jaxgrad/parity/port/values/values.py:2 sets scope.")
    assert not _fields_set("values/values.py", source.replace("scope: Scope", "scope: ast.For"))
    assert not _fields_set("values/values.py", source.replace("self, scope: Scope", "self"))


def _is_text(node: ast.AST, variables: set[str]) -> bool:
    """Return whether an expression is the text of code, or the name in a node."""
    match node:
        case ast.Call(function):
            return ast.unparse(function) in TEXTS
        case ast.Attribute(_, "id" | "attr"):
            return True
        case ast.Name(name):
            return name in variables
    return False


def _is_fixed_name(node: ast.AST) -> bool:
    """Return whether an expression is a string, several of them, or a constant of a module."""
    match node:
        case ast.Constant(str(text)):
            return text not in VARIABLES
        case ast.Tuple(parts) | ast.List(parts) | ast.Set(parts):
            return any(map(_is_fixed_name, parts))
        case ast.Name(name) | ast.Attribute(_, name):
            return name.strip("_").isupper() and name not in VARIABLES
    return False


def _by_text(tree: ast.Module) -> Iterator[ast.expr | ast.MatchClass]:
    """Yield each expression that recognises code by its text, or by a fixed name in it."""
    variables = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _is_text(node.value, set())
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left, _, others):
                sides = [left, *others]
                dumps = [x for x in sides if isinstance(x, ast.Call) and _is_text(x, variables)]
                texts = [x for x in sides if _is_text(x, variables)]
                if dumps or (texts and any(map(_is_fixed_name, sides))):
                    yield node
            case ast.Call(ast.Attribute(text, "startswith" | "endswith" | "removeprefix")):
                if _is_text(text, variables):
                    yield node
            case ast.Call(function, [_, name]) if ast.unparse(function) == "syntax.is_name":
                if _is_fixed_name(name):
                    yield node
            case ast.Call(function):
                if ast.unparse(function) in {"syntax.called", "syntax.dotted_name"}:
                    yield node
            case ast.MatchClass(cls, patterns, _, named):
                values = [x.value for x in [*patterns, *named] if isinstance(x, ast.MatchValue)]
                is_node = ast.unparse(cls) in {"ast.Name", "ast.Attribute"}
                if is_node and any(map(_is_fixed_name, values)):
                    yield node


def _recognised_by_text(sources: dict[str, str]) -> list[str]:
    """Return each place of the porter that recognises code of a port by its text or a name."""
    return [
        f"jaxgrad/parity/port/{name}:{node.lineno} {ast.unparse(node)}"
        for name, source in sources.items()
        if name != "source/syntax.py"  # defines the comparisons
        for node in _by_text(ast.parse(source))
        if ast.unparse(node) not in CODE_OF_USERS.get(name, ())
    ]


def test_no_pass_recognises_the_port_by_its_text():
    """Passes ask a node which operator or helper it is; they do not compare its name or text."""
    folder = ROOT / "jaxgrad" / "parity" / "port"
    sources = {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*.py")}

    wrong = _recognised_by_text(sources)

    assert not wrong, (
        "annotate the node where it is made, and ask `syntax.is_op`, `syntax.calls` or "
        "`on_expression`; if this is the source of a torch program, add it to CODE_OF_USERS in "
        "this file:\n" + "\n".join(wrong)
    )
    for name, allowed in CODE_OF_USERS.items():
        unused = allowed - {ast.unparse(node) for node in _by_text(ast.parse(sources[name]))}
        assert not unused, f"remove {unused} of {name} from CODE_OF_USERS in this file"


@pytest.mark.parametrize(
    "line",
    [
        'is_sum = syntax.called(code) == "jnp.sum"',
        "is_loss = syntax.called(code) in LOSSES",
        'is_dtype = syntax.dotted_name(code) == "jnp.int32"',
        'is_sum = ast.unparse(code) == "jnp.sum(x)"',
        'text = syntax.text(code)\nis_sum = text == "x.sum()"',
        'is_sum = syntax.text(code).startswith("jnp.sum")',
        'is_sum = code.func.attr == "sum"',
        'is_view = code.attr in ("T", "mT")',
        "is_view = code.attr in _VIEWS",
        'is_list = code.func.id == "list"',
        'is_list = syntax.is_name(code.func, "list")',
        'match code:\n    case ast.Call(ast.Name("list")):\n        pass',
        'match code:\n    case ast.Attribute(_, "shape"):\n        pass',
    ],
)
def test_a_comparison_with_the_text_of_the_port_is_found(line):
    """The test above fails for each way to recognise a node by its name or its text."""
    assert _recognised_by_text({"finish/keys.py": line})


@pytest.mark.parametrize(
    "line",
    [
        'is_sum = syntax.is_op(code, ("sum",))',
        "is_short = len(syntax.text(code)) < 20",
        'is_own = syntax.is_name(code, "self")',
        "is_params = code.id == PARAMS",
        "is_other = code.id == name",
        'scope.assume(node, f"{syntax.text(code)} == 2")',
    ],
)
def test_variables_and_printed_text_may_be_compared(line):
    """A variable is its name, and the text of code may be measured and printed."""
    assert not _recognised_by_text({"finish/keys.py": line})

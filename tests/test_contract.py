"""Contracts of the repository: every case has a torch reference, and imports are restricted."""

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys

import pytest

import jaxgrad
from parity_tests.audits.imports import imported_names
from parity_tests.case import _names, load
from parity_tests.report.text import markdown, theme_counts
from parity_tests.runner.selection import ROWS
from parity_tests.runner.settings import ROOT


CASES = load()
PYTHON = [
    path
    for folder in ("jaxgrad", "torch_ref", "parity_tests")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
# The rows of the catalogue that cases must cover: custom gradients and hooks, the autograd API.
CATALOGUE = [f"P{n}" for n in (*range(155, 169), *range(178, 188))]
DIFFERENTIATES = {
    "backward_graph", "depends_on", "from_function", "grad", "hessian", "jacfwd", "jacobian",
    "jacrev", "jvp", "linearize", "make_jaxpr", "saved_bytes", "value_and_grad",
    "value_and_retained_grads", "vjp",
}  # fmt: skip
PUBLIC = sorted(
    name
    for name, value in vars(jaxgrad).items()
    if not name.startswith("_") and not inspect.ismodule(value)
)


def _within(imported: frozenset[str], package: str) -> list[str]:
    return sorted(name for name in imported if name == package or name.startswith(f"{package}."))


@pytest.mark.parametrize("row", (*ROWS, *CATALOGUE))
def test_every_row_has_a_case(row):
    """Every row of the source documents, and of the catalogue's areas 15 and 17, has a case."""
    assert any(row in case.source for case in CASES.values()), (
        f"no case names {row}; write one with source={row!r} in parity_tests/cases/"
    )


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_case_has_its_reference(case):
    """Every case has a torch reference with the same theme, name and inputs."""
    assert callable(case.reference)


def test_every_reference_has_its_case():
    """Every public function of torch_ref has a case; helpers start with `_`."""
    package = importlib.import_module("torch_ref")
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"torch_ref.{info.name}")
        for name, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == module.__name__ and name[0] != "_":
                assert f"{info.name}/{name}" in CASES, (
                    f"torch_ref/{info.name}.py::{name} has no twin; write "
                    f"parity_tests/cases/{info.name}.py::{name}, or call it _{name}"
                )


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_twin_differentiates_its_own_forward(case):
    """A case's JAX program computes its gradients with JAX, neither with torch nor by hand."""
    path = ROOT / "parity_tests" / "cases" / f"{case.theme}.py"

    assert not _within(imported_names(path), "torch")
    assert not _within(imported_names(path), "torch_ref")
    assert _names(case.fun) & DIFFERENTIATES, (
        f"{case.id} calls none of {sorted(DIFFERENTIATES)}, so its gradients are written by hand"
    )


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_claim_is_a_sentence(case):
    """Each claim ends like a sentence, and each idiom fits into a table cell."""
    assert case.claim[-1] in ".)", f"{case.id}: end the claim with a full stop"
    for idiom in case.idiom:
        assert 0 < len(idiom) <= 60, f"{case.id}: {idiom!r} does not fit the table"


@pytest.mark.parametrize("path", PYTHON, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path):
    """No file imports jax._src, helpers do not import torch, themes do not import each other."""
    imported = imported_names(path)
    place = path.relative_to(ROOT)

    assert not _within(imported, "jax._src")
    assert "jax._src" not in path.read_text() or place.name == "test_contract.py"
    if place.parts[0] == "torch_ref":
        for package in ("jax", "jaxgrad", "parity_tests"):
            assert not _within(imported, package)
    if place.parts[0] == "jaxgrad":
        assert not _within(imported, "parity_tests")
        assert not _within(imported, "torch_ref")
        if "parity" not in place.parts:
            assert not _within(imported, "torch")
            if len(place.parts) > 2:  # `jaxgrad/__init__.py` exports the package
                assert not _within(imported, "jaxgrad.parity")
        if not {"nnx", "parity"} & set(place.parts):
            assert not _within(imported, "flax")
    if place.parts[0] == "jaxgrad" and len(place.parts) == 2 and place.name != "__init__.py":
        others = {name.split(".")[1] for name in imported if name.startswith("jaxgrad.")}
        themes = {name for name in others if not name.startswith("_")} - {"optim", "functional"}
        assert not themes, (
            f"{place} imports {themes}; move code that two themes share to `jaxgrad/_core/`"
        )


IMPORTED = "import sys, {}; print(sorted({{'torch', 'flax', 'rich'}} & set(sys.modules)))"


def _after_import(module: str) -> str:
    command = [sys.executable, "-c", IMPORTED.format(module)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_import_jaxgrad_needs_jax_and_optax_only():
    """Neither `import jaxgrad` nor the use of its namespaces imports torch, flax or rich."""
    assert _after_import("jaxgrad").strip() == "[]"
    assert _after_import(", ".join(f"jaxgrad.{name}" for name in jaxgrad._LAZY)).strip() == "[]"


def test_the_import_check_can_fail():
    """The check for imported packages detects torch in a module that imports it."""
    assert "torch" in _after_import("torch_ref._net")


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_helper_is_documented(name):
    """The docstring of a public helper has its arguments, its torch name and a doctest."""
    value = getattr(jaxgrad, name)
    doc = inspect.getdoc(value) or ""
    sections = ("Args:", "Torch:") if inspect.isclass(value) else ("Args:", "Returns:", "Torch:")

    assert doctest.DocTestParser().get_examples(doc), f"jaxgrad.{name} has no example that runs"
    for section in sections:
        assert section in doc, f"the docstring of jaxgrad.{name} has no line {section!r}"


def test_the_expected_names_are_public():
    """`jaxgrad` exports the names that users' code relies on."""
    wanted = (
        "GradScaler accumulate autocast backward_hook clip_grad_norm clip_grad_value depends_on "
        "from_function grad hook retain_grad reverse_gradient saved_bytes straight_through "
        "value_and_grad value_and_retained_grads"
    ).split()

    assert set(wanted) <= set(PUBLIC)


def _between(file: str, name: str) -> list[list[str]]:
    """Return the rows of a generated table in a file, without the column of verdicts."""
    text = (ROOT / file).read_text()
    return _rows(text.split(f"<!-- {name}:begin -->")[1].split(f"<!-- {name}:end -->")[0])


def _rows(table: str) -> list[list[str]]:
    lines = [line.strip("| ") for line in table.splitlines() if line.startswith("| ")]
    return [line.split(" | ")[:-1] for line in lines]


def test_the_table_of_behaviours_is_current():
    """`docs/behaviours.md` has the rows that `make behaviours` writes."""
    assert _between("docs/behaviours.md", "parity-table") == _rows(markdown(CASES.values(), ()))


def test_the_list_of_themes_is_current():
    """`make behaviours` wrote the counts in the README and the list in docs/behaviours.md."""
    begin, end = (f"<!-- parity-themes:{at} -->\n" for at in ("begin", "end"))
    text = (ROOT / "README.md").read_text().split(begin)[1].split(end)[0]
    page = (ROOT / "docs" / "behaviours.md").read_text()

    # The counts after the colon come from a run, so only the text before it is compared.
    assert text.partition(":")[0] == theme_counts(CASES.values(), ()).partition(":")[0]
    assert markdown(CASES.values(), ()).split("\n\n")[1] in page


NOTEBOOKS = sorted(f"notebooks/{path.name}" for path in (ROOT / "notebooks").glob("*.py"))


@pytest.mark.parametrize(
    "file", ["README.md", "docs/behaviours.md", "notebooks/README.md", *NOTEBOOKS]
)
def test_no_row_numbers_where_a_user_reads(file):
    """User-facing documents do not mention row numbers of the source documents or the catalogue."""
    assert re.findall(r"\b(?:S\d-\d\d|P\d{3})\b", (ROOT / file).read_text()) == []

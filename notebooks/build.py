"""Run the notebook scripts `NAME.py` and write the executed copies `NAME.ipynb` beside them.

    python notebooks/build.py                        run all of them
    python notebooks/build.py hooks optim            run only these
    python notebooks/build.py --without-solutions    write copies for a class, without solutions

Each source is a jupytext percent script. This program adds the copy's first code cell, the marks of
the parts that the course uses in class and, if `pyproject.toml` names a repository, a Colab badge.
"""

import argparse
import copy
import importlib
import pathlib
import re
import sys
import time
import tomllib

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError


HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sessions = importlib.import_module("parity_tests.notebook.sessions")

FOR_CLASS = HERE.parent / "notebooks_for_class"  # beside this folder, so that links to ../docs hold
SECONDS = 300  # time limit of one cell, generous because the machine may be busy
REPOSITORY = ("source", "repository", "sourcecode", "github")  # labels of PyPI, normalized
SETUP = """\
# Setup: {where}.
import pathlib
{imports}import sys


folders = [pathlib.Path.cwd(), *pathlib.Path.cwd().parents]
checkout = next((path for path in folders if (path / "parity_tests").is_dir()), None)
if checkout is None:
{fetch}sys.path.insert(0, str(checkout))
"""
FETCH = """\
    checkout = pathlib.Path("jaxgrad")
    if not checkout.is_dir():
        subprocess.run(["git", "clone", "--depth=1", "{url}", "jaxgrad"], check=True)
    install = ["-m", "pip", "install", "--quiet", "./jaxgrad[notebooks]"]
    subprocess.run([sys.executable, *install], check=True)
"""
NO_ADDRESS = """\
    sys.exit(
        "Open this notebook in a checkout of jaxgrad, whose programs it runs; without one, "
        "the cells that begin with '# torch' and '# JAX' still run on their own."
    )
"""


def scripts() -> list[pathlib.Path]:
    """Return the paths of the notebook scripts."""
    return sorted(path for path in HERE.glob("*.py") if path.name != "build.py")


def repository() -> str:
    """Return the URL of the project's repository, or an empty string if it has none."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]
    urls = {re.sub(r"[\W_]", "", key).lower(): url for key, url in project.get("urls", {}).items()}
    return next((urls[label].rstrip("/") for label in REPOSITORY if label in urls), "")


def setup(url: str) -> str:
    """Return the code that every notebook starts with."""
    if not url:
        where = "this notebook runs anywhere in a checkout of jaxgrad"
        return SETUP.format(where=where, imports="", fetch=NO_ADDRESS)
    where = "in a checkout this adds it to the path; on Colab it fetches and installs it"
    return SETUP.format(where=where, imports="import subprocess\n", fetch=FETCH.format(url=url))


def badge(url: str, name: str) -> str:
    """Return a badge that opens the notebook in Colab, or nothing if there is no repository."""
    if "github.com/" not in url:
        return ""
    project = url.split("github.com/")[1].removesuffix(".git")
    location = f"{project}/blob/HEAD/notebooks/{name}.ipynb"
    image = "https://colab.research.google.com/assets/colab-badge.svg"
    return f"\n\n[![Open in Colab]({image})](https://colab.research.google.com/github/{location})"


def read(script: pathlib.Path, url: str = "") -> nbformat.NotebookNode:
    """Convert a script to a notebook without running it; equal scripts give equal bytes."""
    book = jupytext.read(script)
    for index, cell in enumerate(book.cells):
        cell["id"] = f"cell-{index}"
        wide = cell.source.startswith("graph(")  # on a phone, the site lets the reader scroll it
        cell["metadata"] = {"tags": ["wide"]} if wide else {}
    texts = [cell for cell in book.cells if cell.cell_type == "markdown"]
    marks = sessions.marked(script.stem, [cell.source for cell in texts])
    for cell, text in zip(texts, marks, strict=True):
        cell.source = text
    book.cells[0].source += badge(url, script.stem)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book.metadata = nbformat.from_dict({"kernelspec": kernel, "language_info": {"name": "python"}})
    book.nbformat, book.nbformat_minor = 4, 5
    return book


def without_solutions(book: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Let a notebook show the tasks of its exercises without the solutions."""
    for cell in book.cells:
        if cell.cell_type == "code":
            show = r'exercise("\1", solution=False)'
            cell.source = re.sub(r'^exercise\("([^"]+)"\)$', show, cell.source)
        else:
            text = cell.source.replace(" The solution is folded.", "")
            cell.source = text.replace("](README.md)", "](../notebooks/README.md)")
    return book


def executed(book: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Run a notebook in a fresh kernel and return it with its outputs.

    Raises:
        CellExecutionError: A cell raises.
    """
    metadata = copy.deepcopy(book.metadata)
    NotebookClient(
        book,
        timeout=SECONDS,
        resources={"metadata": {"path": str(HERE)}},
        record_timing=False,  # the copy must be reproducible
        extra_arguments=["--log-level=ERROR"],
    ).execute()
    book.metadata = metadata  # execution added the Python version to it
    return book


def build(script: pathlib.Path, *, for_class: bool = False) -> pathlib.Path:
    """Run a script as a notebook, write the executed copy, and return its path.

    Args:
        script: The script.
        for_class: Whether to leave out the solutions of the exercises. Such a copy is written into
            the folder `notebooks_for_class`, any other one beside the script.
    """
    url = repository()
    begin = re.compile(r"# %%\n# Setup: .*?\nsys\.path\.insert\(0, .*?\)\n", re.DOTALL)
    text = begin.sub(lambda _: f"# %%\n{setup(url)}", script.read_text(), count=1)
    if text != script.read_text():
        script.write_text(text)
    book = read(script, url)
    book = executed(without_solutions(book) if for_class else book)
    nbformat.validate(book)
    path = (FOR_CLASS if for_class else HERE) / f"{script.stem}.ipynb"
    path.parent.mkdir(exist_ok=True)
    nbformat.write(book, path)
    return path


def main() -> int:
    known = {script.stem: script for script in scripts()}
    parser = argparse.ArgumentParser(prog="notebooks/build.py", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of: {', '.join(known)}")
    text = f"leave out the solutions of the exercises, and write into {FOR_CLASS.name}/"
    parser.add_argument("--without-solutions", action="store_true", help=text)
    options = parser.parse_args()
    names = options.names or list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"unknown notebook {', '.join(unknown)}; choose from {', '.join(known)}")
    failed = 0
    for name in names:
        start = time.perf_counter()
        try:
            path = build(known[name], for_class=options.without_solutions)
        except CellExecutionError as error:
            failed = 1
            print(f"{name}: {error.ename}: {error.evalue}", file=sys.stderr, flush=True)
            continue
        size = path.stat().st_size
        print(f"{name:<16} {time.perf_counter() - start:5.1f} s {size / 1000:5.0f} KB", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())

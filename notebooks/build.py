"""Run the notebooks: `NAME.py` is the source, the executed `NAME.ipynb` beside it the copy to read.

    python notebooks/build.py               all of them
    python notebooks/build.py hooks optim   some

A script is a jupytext percent script. Its first cell is written here, and so is the Colab badge of
the copy, once `pyproject.toml` names a repository.
"""

import argparse
import os
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
SECONDS = 300  # for one cell; a busy machine is slow
SETUP = """\
# On Colab this installs what is needed; elsewhere it only puts the checkout on the path.
import subprocess
import sys


if "google.colab" in sys.modules:
{clone}    install = ["-m", "pip", "install", "--quiet", "--editable", "..[notebooks]"]
    subprocess.run([sys.executable, *install], check=True)
sys.path.insert(0, "..")
"""
CLONE = """\
    subprocess.run(["git", "clone", "--depth=1", "{url}", "jaxgrad"], check=True)
    os.chdir("jaxgrad/notebooks")
"""


def scripts() -> list[pathlib.Path]:
    """The sources."""
    return sorted(path for path in HERE.glob("*.py") if path.name != "build.py")


def repository() -> str:
    """The project's address, or an empty string while it has none."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]
    return project.get("urls", {}).get("Repository", "").rstrip("/")


def setup(url: str) -> str:
    """The code that every notebook begins with."""
    text = SETUP.format(clone=CLONE.format(url=url) if url else "")
    return text.replace("import subprocess", "import os\nimport subprocess") if url else text


def badge(url: str, name: str) -> str:
    """Opens the notebook in Colab; nothing while there is no address to open it from."""
    if "github.com/" not in url:
        return ""
    place = f"{url.split('github.com/')[1]}/blob/HEAD/notebooks/{name}.ipynb"
    image = "https://colab.research.google.com/assets/colab-badge.svg"
    return f"\n\n[![Open in Colab]({image})](https://colab.research.google.com/github/{place})"


def read(script: pathlib.Path, url: str = "") -> nbformat.NotebookNode:
    """The notebook of a script, not run; the same bytes every time."""
    book = jupytext.read(script)
    for place, cell in enumerate(book.cells):
        cell["id"] = f"cell-{place}"
        cell["metadata"] = {}
    book.cells[0].source += badge(url, script.stem)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book.metadata = nbformat.from_dict({"kernelspec": kernel, "language_info": {"name": "python"}})
    book.nbformat, book.nbformat_minor = 4, 5
    return book


def build(script: pathlib.Path) -> None:
    """Run a script as a notebook and write the copy beside it."""
    url = repository()
    begin = re.compile(r"# %%\n# On Colab .*?sys\.path\.insert\(0, \"\.\.\"\)\n", re.DOTALL)
    script.write_text(begin.sub(lambda _: f"# %%\n{setup(url)}", script.read_text(), count=1))
    book = read(script, url)
    metadata = book.metadata
    NotebookClient(
        book,
        timeout=SECONDS,
        resources={"metadata": {"path": str(HERE)}},
        record_timing=False,  # the same bytes every time
        extra_arguments=["--log-level=ERROR"],
    ).execute(env=os.environ | {"IPYKERNEL_CELL_NAME": "cell"})  # not a temporary file's
    book.metadata = metadata  # without the version of the Python that ran it
    nbformat.validate(book)
    nbformat.write(book, script.with_suffix(".ipynb"))


def main() -> int:
    known = {script.stem: script for script in scripts()}
    parser = argparse.ArgumentParser(prog="notebooks/build.py", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(known)}")
    names = parser.parse_args().names or list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"there is no notebook {', '.join(unknown)}; there are {', '.join(known)}")
    failed = 0
    for name in names:
        start = time.perf_counter()
        try:
            build(known[name])
        except CellExecutionError as error:
            failed = 1
            print(f"{name}: {error.ename}: {error.evalue}", file=sys.stderr, flush=True)
            continue
        size = known[name].with_suffix(".ipynb").stat().st_size
        print(f"{name:<16} {time.perf_counter() - start:5.1f} s {size / 1000:5.0f} KB", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())

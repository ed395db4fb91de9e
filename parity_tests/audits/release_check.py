"""Build the sdist and the wheel, install each in an empty environment, and use it there.

    make release-check

The README's programs must run there, and so must `python -m jaxgrad.parity` and the pytest fixture
of docs/pytest.md. The files stay in dist/. Only the standard library is used here.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile

from parity_tests.audits.environments import ROOT, install, remove


DIST = ROOT / "dist"
FOLDER = ".cache/release"
IN_WHEEL = re.compile(r"jaxgrad/.+|pytest_jaxgrad\.py|jaxgrad-[^/]+\.dist-info/.+")
NEEDED = {"jaxgrad/py.typed", "pytest_jaxgrad.py", "jaxgrad/parity/prove/page.html.j2"}
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
# The programs run from the README's text, without the checkout on the path.
RUN = """\
import pathlib, sys
import jaxgrad
assert "site-packages" in jaxgrad.__file__, f"jaxgrad comes from {jaxgrad.__file__}"
exec(compile(pathlib.Path(sys.argv[1]).read_text(), "README.md", "exec"), {"__name__": "__main__"})
"""


def build() -> tuple[pathlib.Path, pathlib.Path]:
    """Build the sdist, and the wheel from the sdist; return their paths."""
    tools = ROOT / FOLDER / "build"
    venv.create(tools, with_pip=True, clear=True)
    python = str(tools / "bin" / "python")
    _check([python, "-m", "pip", "install", "--quiet", "build"])
    shutil.rmtree(DIST, ignore_errors=True)
    _check([python, "-m", "build", "--outdir", str(DIST), str(ROOT)])
    (sdist,), (wheel,) = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    return sdist, wheel


def contents(names: list[str]) -> str:
    """Return what is wrong with the files of a wheel, or an empty string."""
    foreign = [name for name in names if not IN_WHEEL.fullmatch(name)]
    if foreign:
        return f"the wheel contains {foreign[0]}, which only the checkout needs"
    missing = sorted(NEEDED - set(names))
    return f"the wheel lacks {missing[0]}" if missing else ""


def use(python: pathlib.Path) -> None:
    """Run the README's programs, the command line and the fixture with an installed jaxgrad."""
    readme, page = ((ROOT / name).read_text() for name in ("README.md", "docs/pytest.md"))
    test, pair = BLOCK.findall(page)
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        for number, block in enumerate(BLOCK.findall(readme)):
            program = here / f"block_{number}.py"
            program.write_text(block)
            _check([str(python), "-I", "-c", RUN, str(program)], cwd=here)
        (here / "pair.py").write_text(pair)
        _check([str(python), "-m", "jaxgrad.parity", "pair.py"], cwd=here)
        (here / "test_port.py").write_text(test)
        printed = _check([str(python), "-m", "pytest", "-p", "no:cacheprovider"], cwd=here)
        assert "PASS         test_port.py::test_my_port" in printed, printed


def _check(command: list[str], cwd: pathlib.Path = ROOT) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Build, check the contents, install and use both files."""
    parser = argparse.ArgumentParser(prog="make release-check")
    parser.add_argument("--torch-index", default="", metavar="URL", help="an index of CPU builds")
    options = parser.parse_args()
    sdist, wheel = build()
    if problem := contents(zipfile.ZipFile(wheel).namelist()):
        sys.exit(problem)
    with tarfile.open(sdist) as archive:
        print(f"{sdist.name}: {sdist.stat().st_size / 1e6:.1f} MB, {len(archive.getnames())} files")
    for file in (wheel, sdist):
        folder = f"{FOLDER}/{file.suffix[1:]}"
        remove(folder)
        package = {"PACKAGE": str(file.relative_to(ROOT)), "EXTRAS": "parity"}
        where = {"PYTHON": sys.executable, "TORCH_INDEX": options.torch_index}
        known = install(folder, {**package, **where})
        use(ROOT / folder / "bin" / "python")
        names = ("jaxgrad", "python", "jax", "torch")
        print(f"{file.name}: works as", ", ".join(f"{name} {known[name]}" for name in names))
        remove(folder)
    remove(FOLDER)


if __name__ == "__main__":
    main()

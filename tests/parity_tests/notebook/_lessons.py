"""The lessons of the notebooks: their cells, and the calls that display the programs of a case."""

import ast
import functools
from collections.abc import Iterator

from parity_tests.runner.settings import ROOT


def lessons() -> list[tuple[str, str, str]]:
    """Return the displaying function, the case and the printed results of every lesson, once."""
    scripts = sorted((ROOT / "notebooks").glob("*.py"))
    return list(dict.fromkeys(call for path in scripts for call in displayed(path.read_text())))


@functools.cache
def cells() -> dict[str, list[str]]:
    """Return the code cells of every notebook's script."""
    import jupytext

    scripts = sorted((ROOT / "notebooks").glob("*.py"))
    return {
        path.stem: [cell.source for cell in jupytext.read(path).cells if cell.cell_type == "code"]
        for path in scripts
        if path.stem != "build"
    }


def displayed(script: str) -> Iterator[tuple[str, str, str]]:
    """Yield the displaying function, the case and the printed results of a script's lessons."""
    for node in ast.parse(script).body:
        match node:
            case ast.Expr(
                ast.Call(ast.Name("show" | "programs" as function), [ast.Constant(id)], options)
            ):
                values = {option.arg: ast.literal_eval(option.value) for option in options}
                yield function, str(id), values.get("prints", "")

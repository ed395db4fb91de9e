"""Run the blocks of a hand-written page and write what they print under them.

    python -m parity_tests.site.printed docs/tape_or_transform.md docs/real_questions.md

The Python blocks of a page form one script, named after the page; the lines that a report names
are lines of that script.
"""

import contextlib
import io
import pathlib
import re
import sys
import tempfile
from typing import Any


BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
TIMES = re.compile(r"^[\d.]+ s(?:: .*)?\n", re.MULTILINE)  # the last line of a report


def of_any_torch(text: str) -> str:
    """Return a text without the version of torch, and with the remedies of the newest version."""
    return re.sub(r"torch 2\.\d+", "torch #", re.sub(r'\.at\("[\d.]+"\)', "", text))


def script(page: str) -> str:
    """Return the blocks of a page as one program."""
    return "\n".join(block for block, _ in BLOCK.findall(page))


def filled(page: str, name: str) -> str:
    """Return the page with the output of each block under it."""
    printed = iter(outputs(page, name))

    def block(match: re.Match[str]) -> str:
        text = next(printed)
        return f"```python\n{match[1]}```\n" + (f"\n```text\n{text}```\n" if text else "")

    return BLOCK.sub(block, page)


def outputs(page: str, name: str) -> list[str]:
    """Run the blocks of a page in order, as parts of the script `name`, and return their output."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = []
    line = 0
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / name
        path.write_text(script(page), encoding="utf-8")
        for block, _ in BLOCK.findall(page):
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile("\n" * line + block, path, "exec"), names)
            line += block.count("\n") + 1
            text = TIMES.sub("", out.getvalue()).replace(f"{path.parent}/", "")
            printed.append(text)
    return printed


def main(paths: list[str]) -> None:
    """Write the outputs into the pages."""
    from parity_tests.runner.settings import configure

    configure()
    for path in map(pathlib.Path, paths):
        page = path.read_text(encoding="utf-8")
        path.write_text(filled(page, f"{path.stem}.py"), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

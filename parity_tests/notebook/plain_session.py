"""Run scripts as a reader runs them, in a plain session: float32, and none of the suite's settings.

python -m parity_tests.notebook.plain_session < scripts.json
"""

import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping

import jax

from parity_tests.runner.settings import ROOT


WORD = r"\w+"
RAISED = "raises "  # before an error


def printed(scripts: Mapping[str, str], *, keep_going: bool = False) -> dict[str, str]:
    """Run scripts in one new process and return what each of them prints.

    Args:
        scripts: The scripts by name.
        keep_going: Whether the last line of a script that raises is its error, after `RAISED`.

    Raises:
        subprocess.CalledProcessError: A script raises; its traceback is on stderr.
    """
    plain = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    run = subprocess.run(
        [sys.executable, "-m", __name__, *["--keep-going"] * keep_going],
        input=json.dumps(scripts),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=ROOT,
        env=plain,
    )
    return json.loads(run.stdout)


def output(name: str, code: str, keep_going: bool = False) -> str:
    """Run one script in this process and return what it prints."""
    text = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(text):
        # A report names the lines of a file, as it does for a reader who saves the script.
        file = pathlib.Path(folder) / f"{re.findall(WORD, name)[0]}.py"
        file.write_text(code)
        try:
            exec(compile(code, str(file), "exec"), {"__name__": name})
        except (Exception, SystemExit) as error:  # `exit()` ends only its own script
            if not keep_going:
                raise
            first = next(iter(str(error).splitlines()), "")
            print(f"{RAISED}{type(error).__name__}: {first}")
        jax.effects_barrier()  # wait for what `jax.debug.print` prints
    return text.getvalue()


if __name__ == "__main__":
    given = json.load(sys.stdin)
    # JAX takes the number of devices, which some scripts set, only before it computes anything.
    names = sorted(given, key=lambda name: "jax.config." not in given[name])
    results = {name: output(name, given[name], "--keep-going" in sys.argv) for name in names}
    json.dump({name: results[name] for name in given}, sys.stdout)

"""Make an environment with the Makefile: other versions, another package, another folder.

This file needs only the standard library, because it runs outside of the environments it makes.
"""

import json
import os
import pathlib
import shutil
import subprocess
from collections.abc import Mapping


ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = ("jaxgrad", "jax", "jaxlib", "flax", "optax", "numpy", "torch")
_VERSIONS = f"""\
import importlib.metadata as m, json, platform
known = {{d.metadata["Name"].lower(): d.version for d in m.distributions()}}
picked = {{name: known.get(name, "-") for name in {PACKAGES}}}
print(json.dumps({{"python": platform.python_version(), **picked}}))
"""


class InstallError(Exception):
    """An environment cannot be made; the message is the first error that pip or make printed."""


def make(
    target: str, variables: Mapping[str, str], env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Make a target with these variables, and capture the output."""
    settings = [f"{name}={value}" for name, value in variables.items()]
    # Variables of an outer `make` must not reach this one.
    outer = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    outer.pop("MFLAGS", None)
    command = ["make", "--no-print-directory", target, *settings]
    return subprocess.run(
        command, cwd=ROOT, env={**outer, **(env or {})}, capture_output=True, text=True
    )


def install(
    folder: str, variables: Mapping[str, str], env: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Make the environment `folder`, a path relative to the checkout, and return its versions.

    Raises:
        InstallError: `make` failed.
    """
    done = make(f"{folder}/.installed", {"VENV": folder, **variables}, env)
    if done.returncode:
        lines = done.stderr.splitlines()
        errors = [line for line in lines if line.startswith("ERROR")]
        raise InstallError((errors or lines or [f"make exited with {done.returncode}"])[0])
    return versions(folder)


def versions(folder: str) -> dict[str, str]:
    """Return the versions of Python and of the main packages in an environment."""
    python = [str(ROOT / folder / "bin" / "python"), "-I", "-c", _VERSIONS]
    out = subprocess.run(python, capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


def remove(folder: str) -> None:
    """Delete an environment."""
    shutil.rmtree(ROOT / folder, ignore_errors=True)

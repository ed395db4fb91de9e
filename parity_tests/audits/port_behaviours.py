"""Prove the ports of modules of one gradient behaviour each, and again without the behaviour.

python -m parity_tests.audits.port_behaviours                every behaviour
python -m parity_tests.audits.port_behaviours detach hook    those whose names have this
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.proof.ported import Ported
from jaxgrad.parity.port.proof.proofs import proved
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.values.params import Layout
from parity_tests.audits.planted_bugs import each
from parity_tests.port_collection.behaviours import BEHAVIOURS, Behaviour
from parity_tests.runner.settings import configure


IMPORTS = "import jax\nimport jax.numpy as jnp\nfrom jax import lax\n"


class Verdict(NamedTuple):
    """The verdicts of the proofs of one behaviour."""

    name: str
    proved: str  # why the port is not proved; empty if it is
    without: str  # why the port without the behaviour is not proved; empty if it is

    @property
    def right(self) -> bool:
        """Whether the port is proved, and a gradient differs without the behaviour."""
        return not self.proved and "\nFAIL " in self.without


class AllTrained(Layout):
    """A layout that trains the frozen parameters too."""

    def trainable(self) -> Any:
        return jax.tree.map(lambda _: True, super().trainable())


def without(ported: Ported, behaviour: Behaviour) -> Ported:
    """Return a port in which the behaviour is forgotten.

    Raises:
        ValueError: The source does not have the behaviour's piece.
    """
    if not behaviour.piece:
        layout = ported.layout
        return dataclasses.replace(
            ported, layout=AllTrained(layout.module, layout.used, layout.constants)
        )
    if behaviour.piece not in ported.source:
        raise ValueError(f"{behaviour.piece!r} is not in the port:\n{ported.source}")
    source = IMPORTS + ported.source.replace(behaviour.piece, behaviour.instead)
    return dataclasses.replace(ported, source=source)


def judge(name: str) -> Verdict:
    """Prove the port of a behaviour's module, with the behaviour and without it."""
    behaviour = BEHAVIOURS[name]
    module, inputs = behaviour.entry.module(), behaviour.entry.inputs
    ported = port(module, inputs, prove=False)
    reasons = []
    for candidate in (ported, without(ported, behaviour)):
        try:
            proved(candidate, module, inputs, (), 0)
            reasons.append("")
        except PortError as error:
            reasons.append(str(error))
    return Verdict(name, *reasons)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="part of a behaviour's name")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="use N processes")
    options = parser.parse_args(argv)
    configure()
    chosen = [
        n for n in BEHAVIOURS if not options.patterns or any(p in n for p in options.patterns)
    ]
    good = 0
    for verdict in each(judge, [(name,) for name in chosen], options.workers):
        good += verdict.right
        problem = verdict.proved or verdict.without or "the proof also passes without the behaviour"
        print(f"found {verdict.name}" if verdict.right else f"MISSED {verdict.name}: {problem}")
    print(f"{good} of {len(chosen)} behaviours are proved, and missed where they are deleted")
    return 0 if good == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())

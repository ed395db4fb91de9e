"""The engine of comparison: two observations in, a verdict and the first difference out."""

from jaxgrad.parity.compare import Comparison as Comparison
from jaxgrad.parity.compare import Leaf as Leaf
from jaxgrad.parity.compare import Raises as Raises
from jaxgrad.parity.compare import Tolerance as Tolerance
from jaxgrad.parity.compare import compare as compare
from jaxgrad.parity.linting.linter import lint as lint
from jaxgrad.parity.linting.report import LintReport as LintReport
from jaxgrad.parity.linting.report import Warned as Warned
from jaxgrad.parity.proof.front import ProofError as ProofError
from jaxgrad.parity.proof.prover import prove as prove
from jaxgrad.parity.proof.report import Finding as Finding
from jaxgrad.parity.proof.report import Report as Report
from jaxgrad.parity.proof.report import Surface as Surface
from jaxgrad.parity.proof.sides.dumping import dump as dump

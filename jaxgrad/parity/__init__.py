"""Compare JAX programs with torch: `compare` observations, `prove` ports, `lint` conventions."""

from jaxgrad.parity.compare import Comparison as Comparison
from jaxgrad.parity.compare import Leaf as Leaf
from jaxgrad.parity.compare import Raises as Raises
from jaxgrad.parity.compare import Tolerance as Tolerance
from jaxgrad.parity.compare import compare as compare
from jaxgrad.parity.lint.linter import lint as lint
from jaxgrad.parity.lint.report import LintReport as LintReport
from jaxgrad.parity.lint.report import Warned as Warned
from jaxgrad.parity.port.source.refusals import PortError as PortError
from jaxgrad.parity.prove.prove import prove as prove
from jaxgrad.parity.prove.record.adapters import ProofError as ProofError
from jaxgrad.parity.prove.record.sides import PerSide as PerSide
from jaxgrad.parity.prove.record.torch_side.dump import dump as dump
from jaxgrad.parity.prove.report import Finding as Finding
from jaxgrad.parity.prove.report import Report as Report
from jaxgrad.parity.prove.report import Surface as Surface
from jaxgrad.parity.prove.schema import REPORT_SCHEMA as REPORT_SCHEMA
from jaxgrad.parity.prove.training import Training as Training
from jaxgrad.parity.prove.weights.checkpoints import WeightMap as WeightMap
from jaxgrad.parity.weight_map import weight_map as weight_map

"""Every test runs under the settings of the runner, and under a mutant when one is named."""

import os

from parity_tests import mutants
from parity_tests.settings import configure


configure()
if mutants.VARIABLE in os.environ:
    mutants.install(os.environ[mutants.VARIABLE])

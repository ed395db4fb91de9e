"""Record of the operator in `jaxgrad/functional/distributions/circular.py`."""

import torch.distributions as td

from parity_tests.operators import call, operator
from parity_tests.operators.distributions._shared import ANY, WIDE, log_prob, values_and_parameters


operator(
    "distributions.von_mises_log_prob",
    torch=log_prob(td.VonMises),
    elementwise=True,
    points=[call([0.0, 1.0], [0.0, 0.0], [0.0, 3.75])],
    dtypes=WIDE,
    max_programs=3,
)(values_and_parameters([ANY, ANY, (0.3, 6.0)]))

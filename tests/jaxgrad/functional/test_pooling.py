"""The operators of `jaxgrad/functional/pooling` agree with torch on every recorded call."""

from parity_tests.operators._harness.suite import agreement_test


test_operator = agreement_test("pooling")

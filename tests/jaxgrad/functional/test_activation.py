"""The operators of `jaxgrad/functional/activation` agree with torch on every recorded call."""

from parity_tests.operators._harness.suite import agreement_test


test_operator = agreement_test("activation")

"""Draw the backward graphs of a case."""

"""Reductions (sums, extrema, moments, norms) and cumulative operators."""

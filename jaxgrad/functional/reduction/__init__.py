"""Sums, extrema, moments, norms, cumulative operators."""

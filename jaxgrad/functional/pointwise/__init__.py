"""Elementwise operators: each output element depends on one element of each input."""

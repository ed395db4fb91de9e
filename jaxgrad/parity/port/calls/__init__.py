"""Interpret calls of Python functions, and calls of torch other than operators."""

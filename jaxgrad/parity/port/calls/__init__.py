"""Interpret calls of Python and of torch that are more than an operator."""

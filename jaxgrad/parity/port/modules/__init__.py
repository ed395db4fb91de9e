"""Interpret calls of torch modules that are not read as Python, and hooks of modules."""

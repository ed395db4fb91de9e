"""Interpret loops and comprehensions."""

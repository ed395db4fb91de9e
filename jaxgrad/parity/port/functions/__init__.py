"""Interpret Python functions, classes and closures of the torch program."""

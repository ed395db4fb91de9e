"""Argument checks, dtype promotion and custom derivatives shared by all operators."""

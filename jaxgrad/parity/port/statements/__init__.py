"""Interpret statements that are no loops."""

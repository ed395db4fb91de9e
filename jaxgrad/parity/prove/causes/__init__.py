"""Explain a difference: each cause is a change that is tried, and one rule accepts it."""

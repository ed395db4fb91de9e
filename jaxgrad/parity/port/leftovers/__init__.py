"""Observe in torch's own run what a call of a module leaves behind."""

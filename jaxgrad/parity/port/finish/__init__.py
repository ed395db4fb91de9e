"""Rewrite the functions of a port, whose meaning stays, as a person writes them."""

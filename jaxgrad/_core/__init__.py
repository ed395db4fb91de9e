"""Internals that several public modules share; nothing here is public."""

"""Interpret statements other than loops."""

"""Prove a port, and keep the proof beside its file."""

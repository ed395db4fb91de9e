"""Represent the values of the torch program during a port, and the state of the port."""

"""What the expressions of the torch program are during a port, and the state of a port."""

"""Python source: read that of the torch program, and write that of the port."""

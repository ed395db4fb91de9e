"""How a record of an operator is run on both sides and compared."""

"""Pictures of a case's graphs."""

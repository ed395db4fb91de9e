"""Running cases: both sides, every dtype and mode."""

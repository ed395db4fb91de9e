"""What all optimizers share."""

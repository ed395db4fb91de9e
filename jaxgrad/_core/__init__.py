"""What several themes share; nothing here is public."""

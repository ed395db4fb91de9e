"""What every operator needs: arguments, dtypes, derivatives."""

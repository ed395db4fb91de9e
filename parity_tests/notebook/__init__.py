"""Show both programs and their results side by side in notebooks."""

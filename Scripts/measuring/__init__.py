"""What the measurements have in common."""

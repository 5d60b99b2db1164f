"""Parts that the measurements share."""

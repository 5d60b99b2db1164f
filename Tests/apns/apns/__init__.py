"""The parts of the check of APNs' provider API."""

"""Doors to other packages, each behind an extra of its own."""

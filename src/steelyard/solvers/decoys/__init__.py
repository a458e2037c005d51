"""Scores that accept as many targets as possible at a q-value, learned against decoys."""

"""Structural SVMs: cutting planes for a loss of the confusion matrix."""

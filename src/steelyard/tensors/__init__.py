"""Rows that are a torch tensor, on a GPU or not: what the solvers ask of rows, answered where the data is.

Nothing here is imported before somebody hands in a tensor, so that steelyard does without torch. What grows with the
number of rows stays on the tensor's device.
"""

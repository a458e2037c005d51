"""Linear models learned row by row: the problem, the compiled learner, and what it cannot learn in one pass."""

"""Linear models for given costs, certified, and whole grids of them."""

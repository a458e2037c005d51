"""Linear models for given costs, certified; whole grids of them; the search for the best operating point."""

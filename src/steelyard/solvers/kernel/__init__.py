"""Kernel machines by SMO: convex ones, the nonconvex ones of Neyman-Pearson, and the minimax machine."""

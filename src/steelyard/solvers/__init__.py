"""Solvers: a frozen problem in, a frozen result out; no scikit-learn. One room for each kind.

search      race, exploration, can, alternation, work
linear      cost_sensitive (grids of certified models), bundle
stream      problem, settings, learner, mini_batch, rare_class
path        exact, approximate, sign_changes
kernel      smo, neyman_pearson, minimax
structural  cutting_planes, confusion
decoys      rivals, reset, q_value, steps, bounds, landmarks
"""

from .linear import cost_sensitive

__all__ = ["cost_sensitive"]

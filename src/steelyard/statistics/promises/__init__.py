"""Constraints that hold on unseen data with probability ``1 - delta``: what is asked, the tests, and the order of them.

- `payments`: a constraint as what each kind of row pays; it holds when the mean payment is not negative.
- `counts`: scored rows, and how many of each kind there are at each threshold.
- `questions`: p-values of a constraint at every threshold.
- `orders`: which thresholds are tried, in an order that the labels of the promising rows have no part in.
- `by_group`, `by_class`: a threshold for each group, an offset for each of several classes.
- `promise`: all of it together, and what could have been promised instead.
"""

"""Every misclassification cost at once: the exact path, the certified approximate one, and scores along them."""

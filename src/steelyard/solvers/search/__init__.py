"""The search for the model and operating point that serve a measure best, over everything linear."""

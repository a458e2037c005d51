"""What scored or counted rows say without training: operating points, promises, prevalences, drift, decoys."""

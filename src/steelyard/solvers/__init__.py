"""Solvers: functions that take arrays and return frozen results. They know measures and no scikit-learn."""

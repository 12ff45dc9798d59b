"""Symbols counted under doubtful labels: Dirichlet evidence and probabilities of error, exactly."""

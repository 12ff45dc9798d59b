"""The scikit-learn face: one classifier, and the papers as presets of it."""

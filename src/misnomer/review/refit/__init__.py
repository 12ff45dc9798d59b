"""The model, fitted anew with what was decided."""

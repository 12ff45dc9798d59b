"""An audit and the folder that holds it."""

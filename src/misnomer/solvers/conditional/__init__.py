"""The likelihood of the given labels through the channel: linear or layered scores."""

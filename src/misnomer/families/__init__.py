"""The column families: what to sum, and how sums become weights."""

from misnomer.families.bernoulli import Bernoulli
from misnomer.families.categorical import Categorical
from misnomer.families.count import Count
from misnomer.families.family import Family
from misnomer.families.gaussian import Gaussian

__all__ = ["Bernoulli", "Categorical", "Count", "Family", "Gaussian"]

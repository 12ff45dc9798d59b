"""The papers as presets: each names the parts of one model, and the solver that finds it.

`VBNB` is in none of the papers; it is the same model by another solver.
"""

from misnomer.classifiers.papers.aiolli import GaussianMixtureNB, text_classifier
from misnomer.classifiers.papers.bayes_anil import BayesANIL
from misnomer.classifiers.papers.cestnik import Bayes1, Bayes2, Bayes3, accuracy_against_m
from misnomer.classifiers.papers.denis import NBCCCN, NBCCCNEM
from misnomer.classifiers.papers.filters import NoiseFilterNB
from misnomer.classifiers.papers.unlabeled import NBUNL, PUNB
from misnomer.classifiers.papers.variational import VBNB
from misnomer.classifiers.papers.zeng import INB

__all__ = [
    "INB",
    "NBCCCN",
    "NBCCCNEM",
    "NBUNL",
    "PUNB",
    "VBNB",
    "Bayes1",
    "Bayes2",
    "Bayes3",
    "BayesANIL",
    "GaussianMixtureNB",
    "NoiseFilterNB",
    "accuracy_against_m",
    "text_classifier",
]

"""The papers' methods by the papers' names: presets of one model, and the solver that finds it.

Denis et al.: `NBCCCN`, `NBCCCNEM`, `NBUNL`, `PUNB`. Zeng et al., and what their slides review:
`INB`, `NLNN`, `NAL`, `NoiseFilterNB`, `BayesANIL`. Cestnik: `Bayes1`, `Bayes2`, `Bayes3`. Lynch
and Willett: `CombinedBayesTest`, `BestQuantizer`. Aiolli: `text_classifier`, `GaussianMixtureNB`.
`VBNB` is in none of the papers; it is the same model by another solver.
"""

from misnomer.papers.aiolli import GaussianMixtureNB, text_classifier
from misnomer.papers.cestnik import Bayes1, Bayes2, Bayes3, accuracy_against_m
from misnomer.papers.denis import NBCCCN, NBCCCNEM, NBUNL, PUNB
from misnomer.papers.lynch import BestQuantizer, CombinedBayesTest
from misnomer.papers.preset import VBNB
from misnomer.papers.zeng import INB, NAL, NLNN, BayesANIL, NoiseFilterNB
from misnomer.solvers.counts import m_estimate_probability
from misnomer.solvers.exact.error import probability_of_error
from misnomer.solvers.exact.quantization import best_quantization

__all__ = [
    "INB",
    "NAL",
    "NBCCCN",
    "NBCCCNEM",
    "NBUNL",
    "NLNN",
    "PUNB",
    "VBNB",
    "Bayes1",
    "Bayes2",
    "Bayes3",
    "BayesANIL",
    "BestQuantizer",
    "CombinedBayesTest",
    "GaussianMixtureNB",
    "NoiseFilterNB",
    "accuracy_against_m",
    "best_quantization",
    "m_estimate_probability",
    "probability_of_error",
    "text_classifier",
]


def __dir__() -> list[str]:
    return list(__all__)

"""Aiolli's lecture: naive Bayes for text, and EM for k normal distributions."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import Pipeline, make_pipeline

from misnomer.channel import unlabeled
from misnomer.classifiers.naive_bayes import NoisyLabelNB
from misnomer.families import Gaussian
from misnomer.papers.preset import Preset
from misnomer.solvers.em import mixture

Array = NDArray[np.float64]


def text_classifier(**words: Any) -> Pipeline:
    """Build LEARN and CLASSIFY_NAIVE_BAYES_TEXT: count words, then add one to every count.

    ``P(word | class) = (n_word + 1) / (n + |vocabulary|)``.

    Parameters
    ----------
    **words
        Options of scikit-learn's CountVectorizer.

    Examples
    --------
    >>> clf = text_classifier().fit(["good film", "bad film"], ["+", "-"])
    >>> clf.predict(["a good one"]).tolist()
    ['+']
    """
    counts = CountVectorizer(**words)
    return make_pipeline(counts, NoisyLabelNB(channel="identity", smoothing="laplace"))


@dataclass(eq=False, repr=False)
class GaussianMixtureNB(Preset):
    """A mixture of k normal distributions with one known variance, by EM.

    E-step ``gamma[i, k] ~ exp(-|x_i - mean[k]|^2 / (2 variance))``, M-step
    ``mean[k] = sum_i gamma[i, k] x_i / sum_i gamma[i, k]``. As the variance goes to zero, this is
    k-means.

    Parameters
    ----------
    n_components : int
        k.
    variance : float
        The known variance of every component and column.
    shares : bool
        Estimate how common each component is; the lecture takes all as equal.
    max_iter, tol, n_init, random_state
        As in NoisyLabelNB.

    Attributes
    ----------
    means_ : (k, d) array
        The center of each component.

    Examples
    --------
    >>> X = [[0.0], [0.2], [5.0], [5.2]]
    >>> mixture = GaussianMixtureNB(variance=0.1, random_state=0).fit(X)
    >>> sorted(mixture.means_.round(6).ravel().tolist())
    [0.1, 5.1]
    """

    families = "gaussian"

    n_components: int = 2
    _: KW_ONLY
    variance: float = 1.0
    shares: bool = False
    max_iter: int = 500
    tol: float = 1e-9
    n_init: int = 5
    random_state: Any = None

    @property
    def channel(self) -> Any:
        """No labels, k classes."""
        return unlabeled(self.n_components)

    @property
    def solver(self) -> Any:
        """EM for the means."""
        return partial(mixture, variance=self.variance, shares=self.shares)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, trusted: Any = None) -> Self:
        """Find the components; y is ignored.

        Parameters
        ----------
        X : array or data frame, (n, d)
            The rows.
        y, trusted : ignored
            There are no labels.
        sample_weight : array (n,), optional
            A row of weight zero is absent.

        Returns
        -------
        self : GaussianMixtureNB
            The fitted mixture.
        """
        super().fit(X, None, sample_weight)
        (group,) = self.model_.schema.groups
        assert isinstance(group.family, Gaussian)
        self.means_ = group.family.moments(self.model_.weights)[0]
        return self

"""scikit-learn's naive Bayes by its own names, on top of NoisyLabelNB: a thin adapter."""

import warnings

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin

from misnomer import NoisyLabelNB
from misnomer.smoothing import Smoothing

ALPHA_MIN = 1e-10


class Adapter(ClassifierMixin, BaseEstimator):
    """Hand everything on to a NoisyLabelNB that takes labels as true."""

    family = ""

    def _inner(self, X, **more):
        return NoisyLabelNB(channel="identity", families=self.family, **self._options(X), **more)

    def fit(self, X, y, sample_weight=None):
        X = self._checked(X)
        self.inner_ = self._inner(X).fit(X, y, sample_weight)
        return self

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        X = self._checked(X)
        if not hasattr(self, "inner_"):
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            self.inner_ = self._inner(X)
        elif hasattr(self.inner_, "model_"):
            self.inner_.set_params(**self._options(X))
        self.inner_.partial_fit(X, y, classes, sample_weight)
        return self

    def _checked(self, X):
        return X if sparse.issparse(X) else np.asarray(X)

    def __getattr__(self, name):
        if name.startswith("_") or "inner_" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.__dict__["inner_"], name)

    def predict(self, X):
        return self.inner_.predict(self._checked(X))

    def predict_proba(self, X):
        return self.inner_.predict_proba(self._checked(X))

    def predict_log_proba(self, X):
        return self.inner_.predict_log_proba(self._checked(X))

    def predict_joint_log_proba(self, X):
        return self.inner_.predict_joint_log_proba(self._checked(X))

    @property
    def class_log_prior_(self):
        return np.log(self.inner_.class_prior_)

    def __sklearn_tags__(self):
        return NoisyLabelNB(families=self.family).__sklearn_tags__()


class GaussianNB(Adapter):
    family = "gaussian"

    def __init__(self, *, priors=None, var_smoothing=1e-9):
        self.priors = priors
        self.var_smoothing = var_smoothing

    def _options(self, X):
        smoothing = Smoothing(extra=self.var_smoothing, extra_of_largest=True)
        return {"smoothing": smoothing, "class_prior": self.priors}

    def _moments(self):
        model = self.inner_.model_
        return model.schema.groups[0].family.moments(model.weights)

    @property
    def theta_(self):
        return self._moments()[0]

    @property
    def var_(self):
        return self._moments()[1]


class Discrete(Adapter):
    def __init__(self, *, alpha=1.0, force_alpha=True, fit_prior=True, class_prior=None):
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def _options(self, X):
        self.n_features_in_ = X.shape[1]
        return {
            "smoothing": self._check_alpha(),
            "fit_prior": self.fit_prior,
            "class_prior": self.class_prior,
        }

    def _check_alpha(self):
        """Repeat what scikit-learn says of alpha; the floor is its own."""
        alpha = np.asarray(self.alpha, float)
        if alpha.ndim and alpha.shape[0] != self.n_features_in_:
            raise ValueError("When alpha is an array, it should contains `n_features`")
        if alpha.min() < 0:
            raise ValueError("All values in alpha must be greater than 0.")
        if alpha.min() < ALPHA_MIN and not self.force_alpha:
            warnings.warn(
                f"alpha too small will result in numeric errors, setting alpha = {ALPHA_MIN:.1e}",
                stacklevel=2,
            )
            alpha = np.maximum(alpha, ALPHA_MIN)
        return alpha if alpha.ndim else float(alpha)

    @property
    def _sums(self):
        return self.inner_._seen.expected.sums

    @property
    def feature_count_(self):
        return self._sums


class MultinomialNB(Discrete):
    family = "count"

    def _checked(self, X):
        X = super()._checked(X)
        if X.shape[0] and X.min() < 0:
            raise ValueError(f"Negative values in data passed to {type(self).__name__} (input X)")
        return X


class BernoulliNB(Discrete):
    family = "bernoulli"

    @property
    def feature_count_(self):
        return self._sums[:, self.n_features_in_ :]


class CategoricalNB(MultinomialNB):
    family = "categorical"

    def __init__(
        self,
        *,
        alpha=1.0,
        force_alpha=True,
        fit_prior=True,
        class_prior=None,
        min_categories=None,
    ):
        super().__init__(
            alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior
        )
        self.min_categories = min_categories

    def _checked(self, X):
        X = super()._checked(X)
        return X.astype(int) if X.dtype.kind == "f" else X

    def _options(self, X):
        """Take every whole number up to the largest for a category, as scikit-learn does."""
        least = X.max(axis=0) + 1
        asked = least if self.min_categories is None else np.asarray(self.min_categories)
        wanted = np.maximum(least, asked) if asked.ndim < 2 else asked
        return {**super()._options(X), "min_categories": wanted}

    @property
    def n_categories_(self):
        return np.array([len(c.categories) for c in self.inner_.model_.schema.columns])

    @property
    def category_count_(self):
        return np.split(self._sums, np.cumsum(self.n_categories_)[:-1], axis=1)

    @property
    def feature_count_(self):
        raise AttributeError("categories are counted column by column")

"""scikit-learn made differentiable: its estimators on tensors, with array_api_dispatch=True."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sklearn
import sklearn.metrics.pairwise as pairwise
from finite_differences import assert_gradient
from op_table import draw
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_squared_error
from sklearn.mixture import GaussianMixture
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KernelCenterer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    StandardScaler,
    maxabs_scale,
    minmax_scale,
    normalize,
)

import arraygrad as ag

X = np.random.default_rng(0).normal(size=(8, 3))
Y = X @ np.array([1.0, -2.0, 0.5]) + 0.3 * np.sin(np.arange(8.0))
LABELS = np.array([0, 1, 0, 1, 0, 1, 1, 0])
POSITIVE = draw((5, 3), 0.2, 2.0)


def like(x: Any, values: np.ndarray) -> Any:
    return values if isinstance(x, np.ndarray) else ag.asarray(values)


CALLS: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "StandardScaler": (lambda x: StandardScaler().fit_transform(x), X),
    "StandardScaler mean_": (lambda x: StandardScaler().fit(x).mean_, X),
    "StandardScaler inverse": (lambda x: StandardScaler().fit(x).inverse_transform(x * x), X),
    "MinMaxScaler": (lambda x: MinMaxScaler().fit_transform(x), X),
    "MaxAbsScaler": (lambda x: MaxAbsScaler().fit_transform(x), X),
    "Normalizer": (lambda x: Normalizer().fit_transform(x), X),
    "KernelCenterer": (lambda x: KernelCenterer().fit_transform(x @ x.T), X),
    "PolynomialFeatures": (lambda x: PolynomialFeatures(2).fit_transform(x), X),
    "minmax_scale": (minmax_scale, X),
    "maxabs_scale": (maxabs_scale, X),
    "normalize": (normalize, X),
    "normalize l1": (lambda x: normalize(x, norm="l1"), X),
    "PCA": (lambda x: abs(PCA(2, svd_solver="full").fit_transform(x)), X),
    "PCA explained variance": (lambda x: PCA(2, svd_solver="full").fit(x).explained_variance_, X),
    "PCA covariance_eigh": (lambda x: PCA(2, svd_solver="covariance_eigh").fit(x).explained_variance_, X),
    "PCA inverse": (lambda x: (lambda p: p.inverse_transform(p.transform(x)))(PCA(2, svd_solver="full").fit(x)), X),
    "PCA score": (lambda x: PCA(2, svd_solver="full").fit(x).score_samples(x), X),
    "PCA whiten": (lambda x: abs(PCA(2, svd_solver="full", whiten=True).fit_transform(x)), X),
    "Ridge coef": (lambda x: Ridge(alpha=0.5, solver="svd").fit(x, like(x, Y)).coef_, X),
    "Ridge predict": (lambda x: Ridge(alpha=0.5, solver="svd").fit(x, like(x, Y)).predict(x), X),
    "Ridge targets": (lambda y: Ridge(alpha=0.5, solver="svd").fit(like(y, X), y).coef_, Y),
    "LinearDiscriminantAnalysis": (
        lambda x: LinearDiscriminantAnalysis(solver="svd").fit(x, like(x, LABELS)).decision_function(x),
        X,
    ),
    "GaussianNB": (lambda x: GaussianNB().fit(x, like(x, LABELS)).theta_, X),
    "GaussianMixture means": (
        lambda x: GaussianMixture(1, init_params="random", random_state=0).fit(x).means_,
        X,
    ),
    "Nystroem": (lambda x: Nystroem(gamma=0.3, n_components=4, random_state=0).fit_transform(x) ** 2, X),
    "Pipeline": (
        lambda x: make_pipeline(StandardScaler(), Ridge(solver="svd")).fit(x, like(x, Y)).predict(x),
        X,
    ),
    "mean_squared_error": (
        lambda x: mean_squared_error(like(x, X * 0.5), x, multioutput="raw_values"),
        X,
    ),
    **{
        name: (getattr(pairwise, name), X)
        for name in "cosine_similarity cosine_distances linear_kernel polynomial_kernel sigmoid_kernel rbf_kernel".split()
    },
    "euclidean_distances": (lambda x: pairwise.euclidean_distances(x, x * x + 1.0), X),
    "manhattan_distances": (lambda x: pairwise.manhattan_distances(x, x * x + 1.1), X),
    "laplacian_kernel": (lambda x: pairwise.laplacian_kernel(x, x * x + 1.1), X),
    "chi2_kernel": (lambda x: pairwise.chi2_kernel(x, x * x + 0.1), POSITIVE),
    "additive_chi2_kernel": (lambda x: pairwise.additive_chi2_kernel(x, x * x + 0.1), POSITIVE),
    "paired_cosine_distances": (lambda x: pairwise.paired_cosine_distances(x, x * x + 1.0), X),
    "paired_euclidean_distances": (lambda x: pairwise.paired_euclidean_distances(x, x * x + 1.0), X),
    "pairwise_distances": (lambda x: pairwise.pairwise_distances(x, x * x + 1.0), X),
    "pairwise_kernels": (lambda x: pairwise.pairwise_kernels(x, metric="rbf", gamma=0.4), X),
}


#: scikit-learn writes to constants of its own which a quotient of x has saved.
SPOILS_CONSTANTS = {"GaussianMixture means"}


@pytest.mark.parametrize("name", list(CALLS))
@pytest.mark.filterwarnings("ignore")
def test_gradient(name: str) -> None:
    function, values = CALLS[name]
    x = ag.tensor(values, requires_grad=True)
    copies = ag.allow_mutation_on_saved_tensors() if name in SPOILS_CONSTANTS else contextlib.nullcontext()
    with copies, sklearn.config_context(array_api_dispatch=True):
        y = function(x)
    assert type(y) is ag.Tensor, f"{name} returned a {type(y).__name__}"
    assert_gradient(function, x, y)


def test_the_table_is_long() -> None:
    assert len(CALLS) >= 40

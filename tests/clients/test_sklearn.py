"""scikit-learn made differentiable: its estimators on tensors, with array_api_dispatch=True.

The gradient of each call through arraygrad is compared with finite differences of the same call on NumPy arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sklearn
import sklearn.metrics as metrics
import sklearn.metrics.pairwise as pairwise
from finite_differences import assert_differentiable, like
from op_table import draw
from sklearn.cluster import KMeans
from sklearn.covariance import EmpiricalCovariance, empirical_covariance
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA, FactorAnalysis, IncrementalPCA, KernelPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import (
    BayesianRidge,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
)
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KernelCenterer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    PowerTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    maxabs_scale,
    minmax_scale,
    normalize,
    robust_scale,
    scale,
)
from sklearn.utils import extmath
from sklearn.utils._array_api import _average
from sklearn.utils.stats import _weighted_percentile

import arraygrad as ag

X = np.random.default_rng(0).normal(size=(8, 3))
Y = X @ np.array([1.0, -2.0, 0.5]) + 0.3 * np.sin(np.arange(8.0))
LABELS = np.array([0, 1, 0, 1, 0, 1, 1, 0])
WEIGHTS = np.arange(1.0, 9.0)
POSITIVE = draw((5, 3), 0.2, 2.0)


def discriminant(x: Any) -> LinearDiscriminantAnalysis:
    return LinearDiscriminantAnalysis(solver="svd").fit(x, like(x, LABELS))


def bayes(x: Any) -> GaussianNB:
    return GaussianNB().fit(x, like(x, LABELS))


def mixture(x: Any, components: int = 1, **settings: Any) -> GaussianMixture:
    """At most five rounds of expectation and maximisation, each of them differentiated."""
    return GaussianMixture(components, init_params="random", random_state=0, max_iter=5, **settings).fit(x)


def other(x: Any) -> Any:
    """A second set of points that depends on the first."""
    return x * x + 1.1


def raw(metric: str) -> tuple[Callable[[Any], Any], np.ndarray]:
    """A metric for each column: what it gives for all of them is a float."""
    return lambda x: getattr(metrics, metric)(like(x, X * X * 0.5), x * x, multioutput="raw_values"), X


#: name: function, input. The function gets an array or a tensor.
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
    "Ridge alpha": (lambda alpha: Ridge(alpha=alpha, solver="svd").fit(like(alpha, X), like(alpha, Y)).coef_, np.array(0.5)),
    "Ridge intercept": (lambda x: Ridge(solver="svd").fit(x, like(x, Y)).intercept_, X),
    "Ridge weights": (lambda w: Ridge(solver="svd").fit(like(w, X), like(w, Y), sample_weight=w).coef_, WEIGHTS),
    "RidgeCV": (lambda x: RidgeCV(alphas=[0.5, 2.0]).fit(x, like(x, Y)).coef_, X),
    "RidgeClassifier": (lambda x: RidgeClassifier(solver="svd").fit(x, like(x, LABELS)).decision_function(x), X),
    "RidgeClassifierCV": (lambda x: RidgeClassifierCV(alphas=[0.5, 2.0]).fit(x, like(x, LABELS)).decision_function(x), X),
    "LinearDiscriminantAnalysis": (lambda x: discriminant(x).decision_function(x), X),
    "LinearDiscriminantAnalysis transform": (lambda x: abs(discriminant(x).transform(x)), X),
    "LinearDiscriminantAnalysis log": (lambda x: discriminant(x).predict_log_proba(x), X),
    "LinearDiscriminantAnalysis probabilities": (lambda x: discriminant(x).predict_proba(x), X),
    "GaussianNB": (lambda x: bayes(x).theta_, X),
    "GaussianNB variance": (lambda x: bayes(x).var_, X),
    "GaussianNB log": (lambda x: bayes(x).predict_log_proba(x), X),
    "GaussianNB probabilities": (lambda x: bayes(x).predict_proba(x), X),
    "GaussianMixture means": (lambda x: mixture(x).means_, X),
    "GaussianMixture covariances": (lambda x: mixture(x).covariances_, X),
    "GaussianMixture score": (lambda x: mixture(x).score_samples(x), X),
    "GaussianMixture diagonal": (lambda x: mixture(x, covariance_type="diag").score_samples(x), X),
    "GaussianMixture of two": (lambda x: mixture(x, 2).means_, X),
    "GaussianMixture probabilities": (lambda x: mixture(x, 2).predict_proba(x), X),
    "PCA randomized": (lambda x: PCA(2, svd_solver="randomized", random_state=0).fit(x).explained_variance_, X),
    "PCA mean": (lambda x: PCA(2, svd_solver="full").fit(x).mean_, X),
    "PCA ratio": (lambda x: PCA(2, svd_solver="full").fit(x).explained_variance_ratio_, X),
    "PCA singular values": (lambda x: PCA(2, svd_solver="full").fit(x).singular_values_, X),
    "PCA noise": (lambda x: PCA(1, svd_solver="full").fit(x).noise_variance_, X),
    "PCA covariance": (lambda x: PCA(2, svd_solver="full").fit(x).get_covariance(), X),
    "PCA precision": (lambda x: PCA(1, svd_solver="full").fit(x).get_precision(), X),
    "FactorAnalysis": (lambda x: FactorAnalysis(1).fit(x).components_, X),
    "TruncatedSVD": (lambda x: TruncatedSVD(2, random_state=0).fit(x).singular_values_, X),
    "StandardScaler var_": (lambda x: StandardScaler().fit(x).var_, X),
    "StandardScaler scale": (lambda x: StandardScaler(with_mean=False).fit_transform(x), X),
    "MinMaxScaler inverse": (lambda x: MinMaxScaler().fit(x).inverse_transform(x * x), X),
    "MinMaxScaler range": (lambda x: MinMaxScaler(feature_range=(-1, 2)).fit(x).scale_, X),
    "PolynomialFeatures interactions": (
        lambda x: PolynomialFeatures(2, interaction_only=True, include_bias=False).fit_transform(x),
        X,
    ),
    "normalize max": (lambda x: normalize(x, norm="max"), X),
    "normalize norms": (lambda x: normalize(x, return_norm=True)[1], X),
    "normalize columns": (lambda x: normalize(x, axis=0), X),
    "FunctionTransformer": (lambda x: FunctionTransformer(lambda t: t * t).fit_transform(x), X),
    "make_union": (lambda x: make_union(StandardScaler(), MinMaxScaler()).fit_transform(x), X),
    "train_test_split": (lambda x: train_test_split(x, random_state=0)[0], X),
    "cross_val_predict": (lambda x: cross_val_predict(Ridge(solver="svd"), x, like(x, Y), cv=2), X),
    "empirical_covariance": (empirical_covariance, X),
    "average": (lambda x: _average(x, axis=0, weights=like(x, WEIGHTS)), X),
    "weighted_percentile": (lambda x: _weighted_percentile(x, like(x, WEIGHTS), 40), X),
    "row_norms": (extmath.row_norms, X),
    "row_norms squared": (lambda x: extmath.row_norms(x, squared=True), X),
    "softmax": (lambda x: extmath.softmax(x * 1.0), X),
    "randomized_svd": (lambda x: extmath.randomized_svd(x, 2, random_state=0)[1], X),
    "randomized_range_finder": (lambda x: abs(extmath.randomized_range_finder(x, size=2, n_iter=2, random_state=0)), X),
    "safe_sparse_dot": (lambda x: extmath.safe_sparse_dot(x, x.T), X),
    "stable_cumsum": (lambda x: extmath.stable_cumsum(x, axis=0), X),
    **{
        name: raw(name)
        for name in """
            explained_variance_score mean_absolute_error mean_absolute_percentage_error mean_pinball_loss mean_squared_error
            mean_squared_log_error median_absolute_error r2_score root_mean_squared_error""".split()
    },
    "Nystroem": (lambda x: Nystroem(gamma=0.3, n_components=4, random_state=0).fit_transform(x) ** 2, X),
    "Pipeline": (
        lambda x: make_pipeline(StandardScaler(), Ridge(solver="svd")).fit(x, like(x, Y)).predict(x),
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
    "euclidean_distances squared": (lambda x: pairwise.euclidean_distances(x, other(x), squared=True), X),
    "paired_manhattan_distances": (lambda x: pairwise.paired_manhattan_distances(x, other(x)), X),
    "paired_distances": (lambda x: pairwise.paired_distances(x, other(x)), X),
    "pairwise_distances cosine": (lambda x: pairwise.pairwise_distances(x, other(x), metric="cosine"), X),
    "pairwise_distances_argmin_min": (lambda x: pairwise.pairwise_distances_argmin_min(x, other(x))[1], X),
    "pairwise_kernels polynomial": (lambda x: pairwise.pairwise_kernels(x, metric="poly"), X),
}  # fmt: skip

#: scikit-learn writes to constants of its own which a quotient of x has saved.
SPOILS_CONSTANTS = [name for name in CALLS if name.startswith("GaussianMixture")]

#: What goes by NumPy or by compiled code, and would lose the history.
REFUSED: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "BayesianRidge": (lambda x: BayesianRidge().fit(x, like(x, Y)).coef_, X),
    "EmpiricalCovariance": (lambda x: EmpiricalCovariance().fit(x).covariance_, X),
    "GaussianProcessRegressor": (lambda x: GaussianProcessRegressor(optimizer=None).fit(x, like(x, Y)).predict(x), X),
    "haversine_distances": (lambda x: pairwise.haversine_distances(x[:, :2]), X),
    "IncrementalPCA": (lambda x: IncrementalPCA(2).fit(x).singular_values_, X),
    "KernelPCA": (lambda x: KernelPCA(2).fit_transform(x), X),
    "KMeans": (lambda x: KMeans(2).fit(x).cluster_centers_, X),
    "Lasso": (lambda x: Lasso().fit(x, like(x, Y)).coef_, X),
    "LinearRegression": (lambda x: LinearRegression().fit(x, like(x, Y)).coef_, X),
    "LogisticRegression": (lambda x: LogisticRegression().fit(x, like(x, LABELS)).coef_, X),
    "PLSRegression": (lambda x: PLSRegression(2).fit(x, like(x, Y)).coef_, X),
    "PowerTransformer": (lambda x: PowerTransformer().fit_transform(x), X),
    "QuadraticDiscriminantAnalysis": (
        lambda x: QuadraticDiscriminantAnalysis(reg_param=0.1).fit(x, like(x, LABELS)).decision_function(x),
        X,
    ),
    "RobustScaler": (lambda x: RobustScaler().fit_transform(x), X),
    "SplineTransformer": (lambda x: SplineTransformer().fit_transform(x), X),
    "robust_scale": (robust_scale, X),
    "scale": (scale, X),
}


@pytest.mark.parametrize("name", list(CALLS))
@pytest.mark.filterwarnings("ignore")
def test_gradient(name: str) -> None:
    with sklearn.config_context(array_api_dispatch=True):
        assert_differentiable(*CALLS[name], copies=name in SPOILS_CONSTANTS)


@pytest.mark.parametrize("name", list(REFUSED))
@pytest.mark.filterwarnings("ignore")
def test_history_is_not_lost_silently(name: str) -> None:
    function, values = REFUSED[name]
    with sklearn.config_context(array_api_dispatch=True):
        function(values)  # the call is a right one
        with pytest.raises(ag.GraphError, match="would lose the history of a tensor that requires grad"):
            function(ag.tensor(values, requires_grad=True))


def test_the_table_is_long() -> None:
    assert len(CALLS) >= 95

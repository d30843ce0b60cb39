"""What fails in the suites that ci/clients runs, by its reason: a case, all cases of a test, all tests of a class."""

from __future__ import annotations

KNOWN: dict[str, str] = {
    "SciPy says that the test is for NumPy alone: it hands in lists or NumPy arrays, or a function goes by NumPy": """
        test_array_like
        TestBoxcox_llf::test_array_like
        TestBracketMinimum::test_input_validation
        TestGMean::test_weights_1d_list
        TestHMean::test_weights_1d_list
        TestIQR::test_nanpolicy_nd
        TestPMean::test_weights_1d_list
        TestVariation::test_axis_none
        TestVariation::test_combined_edge_cases
        TestVariation::test_keepdims
        TestVariation::test_keepdims_size0
        TestVariation::test_more_nan_policy_omit_tests
        TestVariation::test_neg_inf_nan
        TestVariation::test_propagate_nan
        TestVariation::test_variation_ddof
        TestVariation::test_variation_nan
        TestWilcoxon::test_permutation_method
        test_Heap
        test_xp_errors
    """,
    "the test calls logspace, which is not in the standard": """
        TestDerivative::test_initial_step
    """,
    "SciPy finds neighbours with a KDTree, for NumPy alone": """
        TestRBFInterpolatorNeighbors20
        TestRBFInterpolatorNeighborsInf
    """,
    "SciPy views complex numbers as pairs of real ones, which a tensor's view() refuses": """
        TestRBFInterpolatorNeighborsNone::test_complex_data
    """,
    "the test knows strict's data types, where float16 is missing": """
        test_supported_float_types
    """,
}

#: As well, with tensors that require grad.
IN_GRAD_MODE: dict[str, str] = {
    "a tensor with history is not pickled or deep-copied": """
        TestFindRoot::test_convergence
        TestRBFInterpolatorNeighborsNone::test_pickleable
        test_deepcopy
        test_pickling
    """,
}

#: How many tests of a suite find the library converting a tensor that requires grad to a NumPy array: functions that
#: are not in arraygrad.special, or that have no generic code (dct, kmeans, compiled ones), runs with dispatch off.
LEAKS: dict[str, int] = {
    "scipy.cluster": 96,
    "scipy.fft": 1448,
    "scipy.interpolate": 164,
    "scipy.special": 242,
    "scipy.stats": 83,
    "sklearn.decomposition": 12,
    "sklearn.linear_model": 68,
    "sklearn.metrics": 206,
    "sklearn.mixture": 32,
    "sklearn.model_selection": 8,
    "sklearn.preprocessing": 22,
    "sklearn.tests": 49,
    "sklearn.utils": 3,
}

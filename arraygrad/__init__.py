"""arraygrad: automatic differentiation for code on NumPy and CuPy arrays.

import arraygrad as ag

w = ag.tensor([[0.5, -1.0]], requires_grad=True)
loss = ag.sum(ag.tanh(x @ w.T) ** 2)
loss.backward()
w.grad
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from arraygrad.tensor import Tensor  # isort: skip  first: its end imports the operations
from arraygrad.autograd import gradients
from arraygrad.backends import get_default_device, set_default_device
from arraygrad.dtypes import (
    bool,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from arraygrad.dtypes import e, inf, nan, newaxis, pi
from arraygrad.errors import (
    ArraygradError,
    ConvergenceError,
    DeviceError,
    DtypeError,
    GradcheckError,
    GraphError,
    IndexingError,
    InplaceError,
    ShapeError,
    VersionError,
)
from arraygrad.storage import allow_mutation_on_saved_tensors
from arraygrad.modes import (
    are_values_checked,
    enable_grad,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
    set_value_checks,
)
from arraygrad.ops.creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    tensor,
    zeros,
    zeros_like,
)
from arraygrad.ops.elementwise import (
    abs,
    acos,
    acosh,
    add,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    clip,
    conj,
    copysign,
    cos,
    cosh,
    divide,
    exp,
    expm1,
    hypot,
    imag,
    log,
    log10,
    log1p,
    log2,
    logaddexp,
    maximum,
    minimum,
    multiply,
    negative,
    nextafter,
    positive,
    pow,
    real,
    reciprocal,
    remainder,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
)
from arraygrad.ops.predicates import (
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    ceil,
    equal,
    floor,
    floor_divide,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
    round,
    signbit,
    trunc,
)
from arraygrad.ops.statistical import cumulative_prod, cumulative_sum, max, mean, min, prod, std, sum, var
from arraygrad.ops.manipulation import (
    astype,
    broadcast_to,
    concat,
    copy,
    expand_dims,
    matrix_transpose,
    permute_dims,
    reshape,
    split,
    squeeze,
    stack,
    sum_to_shape,
    to_device,
    unstack,
)
from arraygrad.ops.indexing import take, take_along_axis
from arraygrad.ops.searching import all, any, argmax, argmin, masked_fill, where
from arraygrad.ops.utility import broadcast_shapes, can_cast, finfo, iinfo, isdtype, result_type
from arraygrad.ops.linalg import matmul, tensordot, vecdot, vector_norm

if TYPE_CHECKING:
    from arraygrad.checking import GradcheckResult, gradcheck, gradgradcheck
    from arraygrad.checkpointing import checkpoint
    from arraygrad.debug import detect_anomaly, graph_dot, set_anomaly_detection, set_backward_trace
    from arraygrad.devices import MemoryInfo, device_count, memory_info, synchronize
    from arraygrad.function import Function, once_differentiable
    from arraygrad.guard import guard_arrays
    from arraygrad.hooks import RemovableHandle, save_on_cpu, saved_tensors_hooks
    from arraygrad.implicit import fixed_point, implicit_root
    from arraygrad.inspection import __array_namespace_info__
    from arraygrad.minimizing import MinimizeResult, minimize
    from arraygrad.ops.einsum import einsum
    from arraygrad.ops.nn import cross_entropy, gelu, log_softmax, logsumexp, relu, rsqrt, sigmoid, softmax, standardize
    from arraygrad.ops.numeric import (
        convolve,
        diag,
        gradient,
        interp,
        kron,
        logcumsumexp,
        pad,
        polyval,
        trapezoid,
        unwrap,
    )
    from arraygrad.ops.rearranging import (
        broadcast_arrays,
        diff,
        flip,
        meshgrid,
        moveaxis,
        repeat,
        roll,
        tile,
        tril,
        triu,
    )
    from arraygrad.ops.samples import (
        corrcoef,
        cov,
        digitize,
        histogram,
        median,
        nanmax,
        nanmean,
        nanmin,
        nansum,
        quantile,
    )
    from arraygrad.ops.sorting import (
        argsort,
        count_nonzero,
        isin,
        nonzero,
        searchsorted,
        sort,
        unique_all,
        unique_counts,
        unique_inverse,
        unique_values,
    )
    from arraygrad.transforms import elementwise_grad, grad, hvp, jvp, linearize, value_and_grad, vjp
    from arraygrad.vectorize import hessian, jacobian, vmap

    from arraygrad import declare, fft, linalg, optim, random, special  # isort: skip  they need the above

#: Where the names are that few programs need at their start: a module is imported when one of its names is first asked
#: for. It makes `import arraygrad` take 1.3 times as long as `import numpy`, where all at once takes 1.6.
_LATER = {
    "arraygrad.checking": "GradcheckResult gradcheck gradgradcheck",
    "arraygrad.checkpointing": "checkpoint",
    "arraygrad.debug": "detect_anomaly graph_dot set_anomaly_detection set_backward_trace",
    "arraygrad.devices": "MemoryInfo device_count memory_info synchronize",
    "arraygrad.function": "Function once_differentiable",
    "arraygrad.guard": "guard_arrays",
    "arraygrad.hooks": "RemovableHandle save_on_cpu saved_tensors_hooks",
    "arraygrad.implicit": "fixed_point implicit_root",
    "arraygrad.inspection": "__array_namespace_info__",
    "arraygrad.minimizing": "MinimizeResult minimize",
    "arraygrad.ops.einsum": "einsum",
    "arraygrad.ops.nn": "cross_entropy gelu log_softmax logsumexp relu rsqrt sigmoid softmax standardize",
    "arraygrad.ops.numeric": "convolve diag gradient interp kron logcumsumexp pad polyval trapezoid unwrap",
    "arraygrad.ops.rearranging": "broadcast_arrays diff flip meshgrid moveaxis repeat roll tile tril triu",
    "arraygrad.ops.samples": "corrcoef cov digitize histogram median nanmax nanmean nanmin nansum quantile",
    "arraygrad.ops.sorting": "argsort count_nonzero isin nonzero searchsorted sort "
    "unique_all unique_counts unique_inverse unique_values",
    "arraygrad.transforms": "elementwise_grad grad hvp jvp linearize value_and_grad vjp",
    "arraygrad.vectorize": "hessian jacobian vmap",
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _LATER.items() for name in names.split()}
_MODULES = ("declare", "fft", "linalg", "optim", "random", "special")


if not TYPE_CHECKING:  # type checkers read the imports above, and know which names there are

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            return _import_module(f"arraygrad.{name}")
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'arraygrad' has no attribute {name!r}")
        value = globals()[name] = getattr(_import_module(_MODULE_OF[name]), name)
        return value


__version__ = "0.1.0"
__array_api_version__ = "2025.12"

__all__ = [
    "ArraygradError", "ConvergenceError", "DeviceError", "DtypeError", "Function", "GradcheckError",
    "GradcheckResult", "GraphError", "IndexingError", "InplaceError", "MemoryInfo", "MinimizeResult",
    "RemovableHandle", "ShapeError", "Tensor", "VersionError", "__array_api_version__", "__array_namespace_info__",
    "__version__", "abs", "acos", "acosh", "add", "all", "allow_mutation_on_saved_tensors", "any", "arange",
    "are_values_checked", "argmax", "argmin", "argsort", "asarray", "asin", "asinh", "astype", "atan", "atan2",
    "atanh", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor", "bool", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "can_cast", "ceil", "checkpoint",
    "clip", "complex128", "complex64", "concat", "conj", "convolve", "copy", "copysign", "corrcoef", "cos", "cosh",
    "count_nonzero", "cov", "cross_entropy", "cumulative_prod", "cumulative_sum", "declare", "detect_anomaly",
    "device_count", "diag", "diff", "digitize", "divide", "e", "einsum", "elementwise_grad", "empty", "empty_like",
    "enable_grad", "equal", "exp", "expand_dims", "expm1", "eye", "fft", "finfo", "fixed_point", "flip", "float16",
    "float32", "float64", "floor", "floor_divide", "from_dlpack", "full", "full_like", "gelu", "get_default_device",
    "grad", "gradcheck", "gradgradcheck", "gradient", "gradients", "graph_dot", "greater", "greater_equal",
    "guard_arrays", "hessian", "histogram", "hvp", "hypot", "iinfo", "imag", "implicit_root", "inf", "int16", "int32",
    "int64", "int8", "interp", "is_grad_enabled", "isdtype", "isfinite", "isin", "isinf", "isnan", "jacobian", "jvp",
    "kron", "less", "less_equal", "linalg", "linearize", "linspace", "log", "log10", "log1p", "log2", "log_softmax",
    "logaddexp", "logcumsumexp", "logical_and", "logical_not", "logical_or", "logical_xor", "logsumexp",
    "masked_fill", "matmul", "matrix_transpose", "max", "maximum", "mean", "median", "memory_info", "meshgrid", "min",
    "minimize", "minimum", "moveaxis", "multiply", "nan", "nanmax", "nanmean", "nanmin", "nansum", "negative",
    "newaxis", "nextafter", "no_grad", "nonzero", "not_equal", "once_differentiable", "ones", "ones_like", "optim",
    "pad", "permute_dims", "pi", "polyval", "positive", "pow", "prod", "quantile", "random", "real", "reciprocal",
    "relu", "remainder", "repeat", "reshape", "result_type", "roll", "round", "rsqrt", "save_on_cpu",
    "saved_tensors_hooks", "searchsorted", "set_anomaly_detection", "set_backward_trace", "set_default_device",
    "set_grad_enabled", "set_value_checks", "sigmoid", "sign", "signbit", "sin", "sinh", "softmax", "sort", "special",
    "split", "sqrt", "square", "squeeze", "stack", "standardize", "std", "subtract", "sum", "sum_to_shape",
    "synchronize", "take", "take_along_axis", "tan", "tanh", "tensor", "tensordot", "tile", "to_device", "trapezoid",
    "tril", "triu", "trunc", "uint16", "uint32", "uint64", "uint8", "unique_all", "unique_counts", "unique_inverse",
    "unique_values", "unstack", "unwrap", "value_and_grad", "var", "vecdot", "vector_norm", "vjp", "vmap", "where",
    "zeros", "zeros_like",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


del TYPE_CHECKING

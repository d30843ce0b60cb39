"""NumPy's functions that are no ufuncs, each with its NumPy name and parameters (see numpy_names.py).

A parameter that is missing here is refused. What has another default, or is a permission that changes no value
(`kind` of a sort, `overwrite_input`), is taken and not used.
"""

from arraygrad.numpy_functions import (
    creation,
    elements,
    facts,
    padding,
    polynomials,
    products,
    reductions,
    samples,
    shapes,
    sorting,
    transforms,
)
from arraygrad.numpy_functions.table import FUNCTIONS

__all__ = [
    "FUNCTIONS",
    "REFUSED",
    "creation",
    "elements",
    "facts",
    "padding",
    "polynomials",
    "products",
    "reductions",
    "samples",
    "shapes",
    "sorting",
    "transforms",
]

_WRITE = "it writes into its argument; assign by index (t[i] = x), or make a new tensor with np.where"
_TEXT = "it makes text or files of numbers; use detach().numpy()"
_BITS = "it has no derivative and no function of the array API standard; use detach().numpy()"
#: What is refused for a reason, and what to do instead.
REFUSED = {
    **dict.fromkeys("copyto fill_diagonal place put put_along_axis putmask".split(), _WRITE),
    **dict.fromkeys("array2string array_repr array_str save savetxt savez savez_compressed".split(), _TEXT),
    **dict.fromkeys("bitwise_count einsum_path isnat min_scalar_type packbits unpackbits".split(), _BITS),
}

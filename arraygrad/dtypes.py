"""Data types and constants: NumPy's, on every backend."""

from __future__ import annotations

import math

from arraygrad.backends import NUMPY

bool = NUMPY.dtype("bool")
int8 = NUMPY.dtype("int8")
int16 = NUMPY.dtype("int16")
int32 = NUMPY.dtype("int32")
int64 = NUMPY.dtype("int64")
uint8 = NUMPY.dtype("uint8")
uint16 = NUMPY.dtype("uint16")
uint32 = NUMPY.dtype("uint32")
uint64 = NUMPY.dtype("uint64")
float16 = NUMPY.dtype("float16")
float32 = NUMPY.dtype("float32")
float64 = NUMPY.dtype("float64")
complex64 = NUMPY.dtype("complex64")
complex128 = NUMPY.dtype("complex128")

e = math.e
inf = math.inf
nan = math.nan
newaxis = None
pi = math.pi

"""Rows of what NumPy has beyond the standard: values against NumPy, gradients by finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import arraygrad as ag
from arraygrad.ops.einsum import einsum

#: Functions that are compositions of other operations. Their rows check them; the operations have rows of their own.
COMPOSED = {
    "convolve", "corrcoef", "cov", "diag of a matrix", "digitize", "einsum", "gradient", "histogram", "interp",
    "kron", "median", "nanmax", "nanmean", "nanmin", "nansum", "pad by elements", "polyval", "quantile",
    "trapezoid", "unwrap",
}  # fmt: skip


def rows(op: Callable[..., Any], draw: Callable[..., np.ndarray], draw_complex: Callable[..., np.ndarray]) -> list[Any]:
    def composed(name: str, samples: dict[str, Any], reference: Any = None, **row: Any) -> Any:
        function = row.pop("function", None) or getattr(ag, name)
        return op(name, reference or getattr(np, name), samples, function=function, composed=True, **row)

    def sums(subscripts: str, *shapes: tuple[int, ...], make: Any = draw) -> tuple[Any, ...]:
        return (subscripts, *(make(shape, -1.5 + 0.1 * i, 2.0) for i, shape in enumerate(shapes)))

    def gaps(shape: tuple[int, ...]) -> np.ndarray:
        x = draw(shape)
        x.reshape(-1)[[1, 4]] = np.nan
        return x

    x23, x4, x5, x234 = draw((2, 3)), draw((4,)), draw((5,), -1.0, 2.0), draw((2, 3, 4))
    grid = np.array([-2.0, -0.9, 0.15, 1.0, 2.5])
    away = draw((2, 3), -1.8, 2.3, away_from=grid)
    along = {"axis=1": ((x23,), {"axis": 1}), "axes": ((x234,), {"axis": (0, 2), "keepdims": True})}
    absent = {
        "all": (gaps((2, 3)),),
        "axis=0": ((gaps((3, 2)),), {"axis": 0}),
        "axes": ((gaps((2, 3, 2)),), {"axis": (0, 2), "keepdims": True}),
        "none": (x23, 1),
    }
    several = ((2, 1), (0, 3))
    return [
        op(
            "contract",
            np.einsum,
            {
                "matrices": sums("ij,jk->ik", (2, 3), (3, 4)),
                "batches": sums("bij,bkj->kib", (2, 3, 2), (2, 4, 2)),
                "outer": sums("i,jk->jik", (2,), (3, 2)),
                "complex": sums("ij,jk->ki", (2, 3), (3, 2), make=draw_complex),
                "complex x real": ("ij,j->i", draw_complex((2, 3)), draw((3,))),
                "all": sums("ij,ij->", (2, 3), (2, 3)),
                "size 0": sums("ij,jk->ik", (0, 3), (3, 2)),
                "nothing to sum": sums("ij,jk->ik", (2, 0), (0, 2)),
            },
            function=einsum,
            composed=True,
        ),
        composed(
            "einsum",
            {
                "implicit": sums("ij,jk", (2, 3), (3, 4)),
                "alphabetical": sums("ba", (2, 3)),
                "trace": sums("ii", (3, 3)),
                "diagonal": sums("ii->i", (3, 3)),
                "repeated in the middle": sums("iji->j", (3, 2, 3)),
                "three times": sums("iii->i", (2, 2, 2)),
                "summed out": sums("ij,kl->il", (2, 3), (4, 2)),
                "one operand": sums("ijk->k", (2, 3, 2)),
                "ellipsis": sums("...ij,...jk->...ik", (2, 2, 3), (3, 2)),
                "ellipsis implicit": sums("i...,i...", (3, 2), (3, 1)),
                "ellipsis alone": sums("...,...", (2, 1), (3,)),
                "size 1 broadcasts": sums("ij,ij->i", (2, 1), (2, 3)),
                "three": sums("ij,jk,kl->li", (2, 3), (3, 2), (2, 4)),
                "diagonal of three": sums("ii,i,jj->j", (3, 3), (3,), (2, 2)),
                "0-d": sums(",i->i", (), (3,)),
                "complex": sums("ij,jk,ki->", (2, 3), (3, 2), (2, 2), make=draw_complex),
                "spaces": sums("i j , j -> i", (2, 3), (3,)),
            },
        ),
        op(
            "pad",
            np.pad,
            {
                "number": (x23, 1),
                "pair": (x23, (1, 2)),
                "pairs": (x23, several),
                "values": ((x23, several), {"constant_values": 1.5}),
                "values of each": ((x23, several), {"constant_values": ((1.0, -2.0), (0.5, 3.0))}),
                "0-d": (draw(()), 0),
                "size 0": (draw((0, 2)), 1),
                "complex": (draw_complex((2, 3)), ((1, 0), (0, 2))),
            },
        ),
        composed(
            "pad by elements",
            {
                f"{mode} {widths}": ((x23, widths), {"mode": mode})
                for mode in ("edge", "reflect", "symmetric", "wrap")
                for widths in (1, (2, 1), ((0, 1), (5, 4)))
            },
            np.pad,
            function=ag.pad,
        ),
        op("diag", np.diag, {"main": (x4,), "above": (x4, 2), "below": (x4, -1), "size 0": (draw((0,)), 1), "complex": (draw_complex((3,)),)}),
        composed("diag of a matrix", {"main": (x23,), "above": (x23, 1), "below": (x23, -1)}, np.diag, function=ag.diag),
        composed(
            "kron",
            {"1-D": (x4, draw((2,))), "2-D": (x23, draw((2, 2))), "mixed": (x4, x23), "0-d": (x23, draw(())), "complex": (draw_complex((2, 2)), x23)},
        ),
        op(
            "logcumsumexp",
            lambda x, axis=None: np.logaddexp.accumulate(x, axis=-1 if axis is None else axis),
            {
                "1-D": (draw((7,)),),
                "axis=0": ((draw((3, 2)),), {"axis": 0}),
                "axis=-1": ((x234,), {"axis": -1}),
                "far apart": (np.array([-700.0, 3.0, -900.0, 800.0, 799.0]),),
                "one": (np.array([0.7]),),
                "size 0": ((draw((2, 0)),), {"axis": 1}),
            },
        ),
        composed(
            "interp",
            {
                "inside": (away, grid, x5),
                "outside": (np.array([-3.1, 0.0, 4.0]), grid, x5),
                "left and right": (np.array([-3.1, 0.0, 4.0]), grid, x5, -7.0, 5.0),
                "one point": (x4, np.array([9.0]), np.array([1.5])),
                "0-d": (np.array(0.4), grid, x5),
                "period": ((away * 4, np.array([0.3, 2.1, -1.05, 1.2]), x4), {"period": 3.75}),
            },
        ),
        composed(
            "convolve",
            {
                f"{mode} {len(a)} and {len(b)}": (a, b, mode)
                for mode in ("full", "same", "valid")
                for a, b in ((x5, draw((2,))), (draw((3,)), x5), (x5, draw((4,))), (x4, draw((1,))))
            }
            | {"complex": (draw_complex((3,)), x4)},
        ),
        composed("polyval", {"1-D": (x4, x5), "2-D": (x4, x23), "0-d": (x4, draw(())), "one": (x4[:1], x5), "complex": (x4, draw_complex((2, 3)))}),
        composed(
            "trapezoid",
            {
                "1-D": (x5,),
                "dx": ((x23,), {"dx": 0.3, "axis": 0}),
                "x": (x5, grid),
                "x along an axis": ((x234, draw((3,), 0.0, 1.0)), {"axis": 1}),
                "x of the shape of y": (x23, np.sort(draw((2, 3), 0.0, 3.0))),
                "one": (draw((2, 1)),),
            },
        ),
        composed(
            "gradient",
            {
                "1-D": (x5,),
                "spacing": (x5, 0.3),
                "two axes": (x23,),
                "two spacings": (x23, 0.5, 2.0),
                "one axis": ((x234, 0.7), {"axis": 1}),
                "axes": ((x234,), {"axis": (-1, 0)}),
                "coordinates": (x5, grid),
                "coordinates of one axis": ((x23, np.array([0.1, 0.4, 1.5])), {"axis": 1}),
                "two elements": (draw((2,)), 0.25),
                "parabolas at the ends": ((x234, 0.7), {"axis": 1, "edge_order": 2}),
                "parabolas between coordinates": ((x5, grid), {"edge_order": 2}),
                "one parabola": ((draw((3,)), 0.25), {"edge_order": 2}),
            },
        ),
        composed("nansum", absent | {"complex": (draw_complex((2, 3)),)}),
        composed("nanmean", absent | {"complex": (draw_complex((2, 3)),)}),
        composed("nanmax", absent),
        composed("nanmin", absent),
        composed("median", {"odd": (draw((5,)),), "even": (x4,), "0-d": (draw(()),), "one": (np.array([2.5]),), **along}),
        composed(
            "quantile",
            {
                "number": (x5, 0.3),
                "ends": (x4, [0.0, 1.0]),
                "array": (x23, np.array([0.15, 0.55, 0.85])),
                "array axis": ((x23, np.array([[0.15], [0.65]])), {"axis": 0, "keepdims": True}),
                "at an element": ((x5, 0.5), {"axis": 0}),
                "axes": ((x234, 0.37), {"axis": (0, 2)}),
                "keepdims": ((x23, 0.37), {"axis": -1, "keepdims": True}),
                "0-d": (draw(()), 0.37),
                **{method: ((x23, 0.37), {"method": method, "axis": 1}) for method in ("lower", "higher", "nearest", "midpoint", "hazen", "weibull", "median_unbiased", "normal_unbiased", "interpolated_inverted_cdf")},
                "hazen q": ((x23, np.array([0.01, 0.3, 0.99])), {"method": "hazen"}),
            },
        ),
        composed(
            "cov",
            {
                "rows": (x234[0],),
                "columns": ((x234[0],), {"rowvar": False}),
                "one": (x5,),
                "two": (x5, draw((5,))),
                "matrix and vector": ((x23, draw((3,))), {"ddof": 0}),
                "bias": ((x234[0],), {"bias": True}),
                "frequencies": ((x234[0],), {"fweights": np.array([1, 3, 2, 1])}),
                "importance": ((x234[0],), {"aweights": np.array([0.5, 1.5, 1.0, 0.7])}),
                "both": ((x5,), {"fweights": np.array([1, 3, 2, 1, 1]), "aweights": np.array([0.5, 1.5, 1.0, 0.7, 0.2])}),
                "complex": (draw_complex((2, 3)),),
            },
        ),
        composed(
            "corrcoef",
            {"rows": (x234[0],), "two": (x5, draw((5,))), "columns": ((draw((4, 2)),), {"rowvar": False}), "complex": (draw_complex((2, 4)),)},
        ),
        composed(
            "unwrap",
            {
                "1-D": (draw((7,), -9.0, 9.0),),
                "axis": ((draw((4, 3), -9.0, 9.0),), {"axis": 0}),
                "period": ((draw((7,), -9.0, 9.0),), {"period": 4.0}),
                "discont": ((draw((7,), -9.0, 9.0), 5.0), {}),
            },
        ),
        composed(
            "digitize",
            {"rising": (x23, grid), "right": (x23, grid, True), "falling": (x23, grid[::-1].copy()), "0-d": (draw(()), grid), "one edge": (x23, grid[2:3])},
            has_gradient=False,
        ),
        composed(
            "histogram",
            {
                "default": (draw((20,)),),
                "count": (x234, 5),
                "range": ((x23, 4), {"range": (-1.0, 1.5)}),
                "edges": (x234, grid),
                "density": ((x234, 5), {"density": True}),
                "one value": (np.array([1.5, 1.5]), 3),
            },
            has_gradient=False,
        ),
    ]  # fmt: skip

"""The engine on single numbers."""

import math
import re

import pytest

from arraygrad.scalar import Value


def test_neuron():
    w1, x1, w2, x2, b = Value(0.5), Value(2.0), Value(-1.5), Value(0.5), Value(0.25)
    activation = w1 * x1 + w2 * x2 + b
    y = activation.tanh()
    y.backward()
    assert activation.data == 0.5
    assert y.data == pytest.approx(0.462117, abs=1e-6)
    assert activation.grad == pytest.approx(0.786448, abs=1e-6)
    grads = {"w1": w1.grad, "x1": x1.grad, "w2": w2.grad, "x2": x2.grad, "b": b.grad}
    expected = {"w1": 1.572895, "x1": 0.393224, "w2": 0.393224, "x2": -1.179672, "b": 0.786448}
    assert grads == pytest.approx(expected, abs=1e-6)


def test_square_of_a_product_plus_a_number():
    a, b, c = Value(2.0), Value(-3.0), Value(10.0)
    u = a * b
    s = u + c
    f = s**2
    f.backward()
    assert (u.data, s.data, f.data) == (-6, 4, 16)
    assert (f.grad, s.grad, u.grad, c.grad, a.grad, b.grad) == (1, 8, 8, 8, -24, 16)


def test_tanh_of_a_product_plus_a_number():
    a, b, c = Value(2.0), Value(-1.0), Value(1.5)
    f = (a * b + c).tanh()
    f.backward()
    text = f"f = {f.data:.4f}  df/da = {a.grad:.4f}  df/db = {b.grad:.4f}  df/dc = {c.grad:.4f}"
    assert text == "f = -0.4621  df/da = -0.7864  df/db = 1.5729  df/dc = 0.7864"


def test_chain_of_two():
    x = Value(2.0)
    u = x * 3
    y = u**2
    y.backward()
    assert (u.data, u.grad, x.grad) == (6, 12, 36)


def test_repeated_input_accumulates():
    a = Value(3.0)
    (a * a).backward()
    assert a.grad == 6


def test_three_edges_leave_one_value():
    x = Value(3.0)
    m = x * x
    y = m + x
    y.backward()
    assert (y.grad, m.grad, x.grad) == (1, 1, 7)


def test_diamond_waits_for_both_paths():
    x = Value(2.0)
    (x * 2 + x * 3).backward()
    assert x.grad == 5


def test_diamond_below_a_value():
    a = Value(2.0)
    u = 3 * a
    f = u * u + u
    f.backward()
    assert (u.grad, a.grad) == (13, 39)


def test_stack_of_diamonds():
    x = Value(1.0)
    y = x
    for _ in range(64):
        y = y + y
    y.backward()
    assert x.grad == 2.0**64


@pytest.mark.parametrize("at", [-1.0, 0.0, 0.5])
def test_exp_is_its_own_derivative(at):
    x = Value(at)
    y = x.exp()
    y.backward()
    assert y.data == math.exp(at)
    assert x.grad == y.data


@pytest.mark.parametrize(("at", "value", "slope"), [(2.0, 2.0, 1.0), (-2.0, 0.0, 0.0), (0.0, 0.0, 0.0)])
def test_relu(at, value, slope):
    x = Value(at)
    y = x.relu()
    y.backward()
    assert (y.data, x.grad) == (value, slope)


@pytest.mark.parametrize(
    ("function", "value", "slope"),
    [
        (lambda x: x + 3, 5.0, 1.0),
        (lambda x: 3 + x, 5.0, 1.0),
        (lambda x: x - 3, -1.0, 1.0),
        (lambda x: 3 - x, 1.0, -1.0),
        (lambda x: x * 3, 6.0, 3.0),
        (lambda x: 3 * x, 6.0, 3.0),
        (lambda x: x / 4, 0.5, 0.25),
        (lambda x: 4 / x, 2.0, -1.0),
        (lambda x: -x, -2.0, -1.0),
        (lambda x: x**3, 8.0, 12.0),
        (lambda x: x**-1, 0.5, -0.25),
        (lambda x: x**0.5, math.sqrt(2), 0.5 / math.sqrt(2)),
        (lambda x: x**0, 1.0, 0.0),
    ],
    ids=["x+3", "3+x", "x-3", "3-x", "3x", "x*3", "x/4", "4/x", "-x", "x**3", "x**-1", "x**.5", "x**0"],
)
def test_operators_at_two(function, value, slope):
    x = Value(2.0)
    y = function(x)
    y.backward()
    assert (y.data, x.grad) == pytest.approx((value, slope), rel=1e-15)


def test_division_of_two_values():
    a, b = Value(6.0), Value(3.0)
    q = a / b
    q.backward()
    assert (q.data, a.grad, b.grad) == pytest.approx((2.0, 1 / 3, -6 / 9), rel=1e-15)


def test_difference_of_two_values():
    a, b = Value(6.0), Value(3.0)
    (a - b).backward()
    assert (a.grad, b.grad) == (1, -1)


@pytest.mark.parametrize("exponent", [Value(2.0), "2", None, 2j], ids=["value", "text", "none", "complex"])
def test_only_constant_exponents(exponent):
    with pytest.raises(TypeError):
        Value(3.0) ** exponent


def test_reflected_power_is_refused():
    with pytest.raises(TypeError):
        2.0 ** Value(3.0)


def test_repr_shows_number_and_gradient():
    x = Value(2)
    (x * 3).backward()
    assert repr(x) == "Value(data=2.0, grad=3.0)"


def test_new_value_has_no_gradient_yet():
    assert (Value(2).data, Value(2).grad) == (2.0, 0.0)


@pytest.mark.parametrize("calls", [1, 2, 3, 5])
def test_leaves_accumulate_over_calls_and_results_do_not(calls):
    x = Value(3.0)
    m = x * x
    y = m + x
    for _ in range(calls):
        y.backward()
    assert (y.grad, m.grad, x.grad) == (1, 1, 7 * calls)


def test_two_roots_over_one_leaf():
    x = Value(2.0)
    (x * 2).backward()
    (x * 3).backward()
    assert x.grad == 5


def test_leaf_as_root():
    x = Value(2.0)
    x.backward()
    assert x.grad == 1


def test_chain_of_twenty_thousand_additions():
    x = Value(0.0)
    y = x
    for _ in range(20_000):
        y = y + 1.0
    y.backward()
    assert (y.data, x.grad) == (20_000, 1)


def test_module_is_about_a_hundred_lines():
    """It is for reading in one sitting."""
    import arraygrad.scalar

    with open(arraygrad.scalar.__file__, encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert len(lines) <= 120
    assert not re.search(r"^\s*(from|import) (numpy|arraygrad\.)", "\n".join(lines), re.MULTILINE)

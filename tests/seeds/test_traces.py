"""The two traced graphs, node by node, and small graphs whose shape says how the engine orders its work."""

import io
import re

import numpy as np
import pytest

import arraygrad as ag


def leaf(values):
    return ag.tensor(values, dtype="float64", requires_grad=True)


def close(tensor, expected, atol=1e-6):
    np.testing.assert_allclose(tensor.numpy(), np.asarray(expected, dtype="float64"), rtol=0, atol=atol, strict=True)


@pytest.fixture
def trace():
    stream = io.StringIO()
    ag.set_backward_trace(stream)
    yield stream
    ag.set_backward_trace(None)


class SmallGraph:
    """tanh(x * w + x), summed."""

    def __init__(self):
        self.x = leaf([1, 2])
        self.w = leaf([0.5, -1])
        self.u = self.x * self.w
        self.v = self.u + self.x
        self.t = ag.tanh(self.v)
        self.loss = self.t.sum()


TRACE_OF_SMALL_GRAPH = """\
backward SumBackward shape=[] norm=1
backward TanhBackward shape=[2] norm=1.41421
backward AddBackward shape=[2] norm=1.0162
backward MultiplyBackward shape=[2] norm=1.0162
backward AccumulateGrad shape=[2] norm=2.00815
backward AccumulateGrad shape=[2] norm=0.27106
"""


class TestSmallGraph:
    @pytest.mark.parametrize(
        ("name", "value"),
        [("u", [0.5, -2]), ("v", [1.5, 0]), ("t", [0.905148, 0]), ("loss", 0.905148)],
    )
    def test_forward_values(self, name, value):
        close(getattr(SmallGraph(), name).detach(), value)

    @pytest.mark.parametrize(
        ("name", "node"),
        [("u", "MultiplyBackward"), ("v", "AddBackward"), ("t", "TanhBackward"), ("loss", "SumBackward")],
    )
    def test_recorded_nodes(self, name, node):
        assert getattr(SmallGraph(), name).grad_fn.name == node

    def test_edges(self):
        graph = SmallGraph()
        ((tanh, _),) = graph.loss.grad_fn.next_functions
        ((add, _),) = tanh.next_functions
        (multiply, _), (x_from_add, _) = add.next_functions
        (x_from_multiply, _), (w, _) = multiply.next_functions
        assert [tanh, add, multiply] == [graph.t.grad_fn, graph.v.grad_fn, graph.u.grad_fn]
        assert [x_from_add.name, w.name] == ["AccumulateGrad", "AccumulateGrad"]
        assert x_from_add is x_from_multiply
        assert x_from_add is not w
        assert x_from_add.next_functions == w.next_functions == ()

    def test_dependency_counts(self):
        """How many edges inside the graph reach each node."""
        graph = SmallGraph()
        counts, pending, seen = {}, [graph.loss.grad_fn], set()
        while pending:
            node = pending.pop()
            for target, _ in node.next_functions:
                counts[target] = counts.get(target, 0) + 1
                if target not in seen:
                    seen.add(target)
                    pending.append(target)
        (x, _), (w, _) = graph.u.grad_fn.next_functions
        assert counts == {graph.t.grad_fn: 1, graph.v.grad_fn: 1, graph.u.grad_fn: 1, x: 2, w: 1}

    @pytest.mark.parametrize(
        ("name", "cotangent"),
        [("loss", 1), ("t", [1, 1]), ("v", [0.180707, 1]), ("u", [0.180707, 1])],
    )
    def test_cotangent_that_arrives(self, name, cotangent):
        graph = SmallGraph()
        tensor = getattr(graph, name)
        tensor.retain_grad()
        graph.loss.backward()
        close(tensor.grad, cotangent)

    @pytest.mark.parametrize(("name", "grad"), [("x", [0.271060, 0]), ("w", [0.180707, 2])])
    def test_gradients(self, name, grad):
        graph = SmallGraph()
        graph.loss.backward()
        close(getattr(graph, name).grad, grad)

    def test_gradients_by_the_formula(self):
        """With L = sum(tanh(x (w + 1))), both derivatives can be written down."""
        graph = SmallGraph()
        graph.loss.backward()
        x, w = np.array([1, 2]), np.array([0.5, -1])
        slope = 1 - np.tanh(x * (w + 1)) ** 2
        close(graph.x.grad, slope * (w + 1), atol=1e-15)
        close(graph.w.grad, slope * x, atol=1e-15)

    def test_trace_lines(self, trace):
        """`w` before `x`: of the nodes that are ready, the one pushed last runs first."""
        SmallGraph().loss.backward()
        assert trace.getvalue() == TRACE_OF_SMALL_GRAPH

    def test_trace_goes_to_standard_error_by_environment(self, capsys, monkeypatch):
        monkeypatch.setenv("ARRAYGRAD_TRACE_BACKWARD", "1")
        SmallGraph().loss.backward()
        captured = capsys.readouterr()
        assert captured.err == TRACE_OF_SMALL_GRAPH
        assert captured.out == ""

    def test_no_trace_after_it_is_switched_off(self, trace, capsys):
        ag.set_backward_trace(None)
        SmallGraph().loss.backward()
        captured = capsys.readouterr()
        assert trace.getvalue() == captured.err == captured.out == ""


class TestDiamond:
    """x * 2 + x * 3: one leaf, two ways to it."""

    def test_gradient(self):
        x = leaf([1, 2])
        (x * 2 + x * 3).sum().backward()
        close(x.grad, [5, 5], atol=0)

    def test_trace_lines(self, trace):
        x = leaf([1, 2])
        (x * 2 + x * 3).sum().backward()
        assert trace.getvalue() == (
            "backward SumBackward shape=[] norm=1\n"
            "backward AddBackward shape=[2] norm=1.41421\n"
            "backward MultiplyBackward shape=[2] norm=1.41421\n"
            "backward MultiplyBackward shape=[2] norm=1.41421\n"
            "backward AccumulateGrad shape=[2] norm=7.07107\n"
        )

    def test_numbers_have_no_edge(self):
        x = leaf([1, 2])
        y = x * 2 + x * 3
        (first, _), (second, _) = y.grad_fn.next_functions
        (x_from_first, _), (two, _) = first.next_functions
        (x_from_second, _), (three, _) = second.next_functions
        assert two is three is None
        assert x_from_first is x_from_second

    @pytest.mark.parametrize(("name", "cotangent"), [("both", [1, 1]), ("doubled", [1, 1]), ("tripled", [1, 1])])
    def test_cotangents_that_arrive(self, name, cotangent):
        x = leaf([1, 2])
        doubled, tripled = x * 2, x * 3
        both = doubled + tripled
        tensor = {"both": both, "doubled": doubled, "tripled": tripled}[name]
        tensor.retain_grad()
        both.sum().backward()
        close(tensor.grad, cotangent, atol=0)

    def test_second_branch_runs_first(self, trace):
        """The same diamond with branches that the trace can tell apart."""
        x = leaf([1, 2])
        (-x + x * 3).sum().backward()
        names = re.findall(r"backward (\w+) ", trace.getvalue())
        assert names == ["SumBackward", "AddBackward", "MultiplyBackward", "NegativeBackward", "AccumulateGrad"]
        close(x.grad, [2, 2], atol=0)

    def test_stack_of_diamonds_visits_each_edge_once(self, trace):
        """2 ** 100 paths lead from the root to the leaf."""
        x = leaf(1)
        y = x
        for _ in range(100):
            y = y + y
        y.backward()
        assert x.grad.item() == 2.0**100
        assert trace.getvalue().count("AddBackward") == 100


class TestGraphShape:
    def test_product_and_sum(self):
        a, b = leaf(np.ones((2, 3))), leaf(np.ones(3))
        y = (a * b).sum()
        ((multiply, _),) = y.grad_fn.next_functions
        names = [node.name for node, _ in multiply.next_functions]
        assert [y.grad_fn.name, multiply.name, *names] == [
            "SumBackward", "MultiplyBackward", "AccumulateGrad", "AccumulateGrad",
        ]  # fmt: skip

    def test_leaves_of_two_operations_share_an_accumulator(self):
        x = leaf([1, 2])
        (first, _), _ = (x * 2).grad_fn.next_functions
        (second, _), _ = (x + 1).grad_fn.next_functions
        assert first is second

    def test_accumulator_of_a_second_graph_after_the_first_is_gone(self):
        x = leaf([1, 2])
        (x * 2).sum().backward()
        (x * 3).sum().backward()
        close(x.grad, [5, 5], atol=0)

    def test_drawing_has_a_label_for_each_node_and_a_shape_on_each_edge(self):
        a, b = leaf(np.ones((2, 3))), leaf(np.ones(3))
        text = ag.graph_dot((a * b).sum())
        labels = dict(re.findall(r'(\w+) \[label="(\w+)[^"]*"', text))
        edges = [
            (labels[source], labels[target], shape)
            for source, target, shape in re.findall(r'(\w+) -> (\w+) \[label="(.*?)"\]', text)
        ]
        assert text.startswith("digraph")
        assert sorted(edges) == [
            ("MultiplyBackward", "AccumulateGrad", "[2, 3]"),
            ("MultiplyBackward", "AccumulateGrad", "[3]"),
            ("SumBackward", "MultiplyBackward", "[2, 3]"),
        ]

    def test_drawing_shows_a_shared_leaf_once(self):
        text = ag.graph_dot(SmallGraph().loss)
        assert len(re.findall(r'label="AccumulateGrad', text)) == 2
        assert text.count("->") == 6


class TestChainRule:
    def test_multiplies_along_a_path(self):
        x = leaf(2)
        u = x * 3
        y = u**2
        u.retain_grad()
        y.backward()
        assert (u.item(), y.item(), u.grad.item(), x.grad.item()) == (6, 36, 12, 36)

    def test_product_of_elements_needs_no_jacobian(self):
        a, b = leaf([1, 2, 3]), leaf([4, 5, 6])
        (a * b).backward([1, 1, 1])
        close(a.grad, [4, 5, 6], atol=0)
        close(b.grad, [1, 2, 3], atol=0)

    def test_value_before_the_diamond_waits_for_both_uses(self):
        """u = 3 a, u * u + u: passing on before both uses have delivered gives 3 or 42."""
        a = leaf(2)
        u = a * 3
        u.retain_grad()
        (u * u + u).backward()
        assert (u.grad.item(), a.grad.item()) == (13, 39)

    def test_three_uses(self):
        x = leaf([1, 2])
        (x + x + x).sum().backward()
        close(x.grad, [3, 3], atol=0)


every_rank = pytest.mark.parametrize("shape", [(), (1,)], ids=["0-d", "1-d"])


@every_rank
class TestScalarExamplesOnTensors:
    """The examples of the scalar engine, on tensors of one element."""

    def leaves(self, shape, *values):
        return [leaf(np.full(shape, value)) for value in values]

    def test_neuron(self, shape):
        leaves = w1, x1, w2, x2, b = self.leaves(shape, 0.5, 2.0, -1.5, 0.5, 0.25)
        y = ag.tanh(w1 * x1 + w2 * x2 + b)
        y.backward()
        assert y.item() == pytest.approx(0.462117, abs=1e-6)
        for x, expected in zip(leaves, [1.572895, 0.393224, 0.393224, -1.179672, 0.786448], strict=True):
            close(x.grad, np.full(shape, expected))

    def test_square_of_a_product_plus_a_number(self, shape):
        a, b, c = self.leaves(shape, 2, -3, 10)
        u = a * b
        s = u + c
        f = s**2
        for tensor in (u, s, f):
            tensor.retain_grad()
        f.backward()
        assert [t.item() for t in (u, s, f)] == [-6, 4, 16]
        assert [t.grad.item() for t in (f, s, u, c, a, b)] == [1, 8, 8, 8, -24, 16]

    def test_tanh_of_a_product_plus_a_number(self, shape):
        a, b, c = self.leaves(shape, 2, -1, 1.5)
        f = ag.tanh(a * b + c)
        f.backward()
        assert [f"{t:.4f}" for t in (f.item(), a.grad.item(), b.grad.item(), c.grad.item())] == [
            "-0.4621", "-0.7864", "1.5729", "0.7864",
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("function", "at", "slope"),
        [
            (lambda x: x * x + x, 3, 7),
            (lambda x: x * x, 3, 6),
            (lambda x: x * 2 + x * 3, 2, 5),
            (lambda x: (x * 3) * (x * 3) + x * 3, 2, 39),
            (lambda x: x * x * x * x, 2, 32),
        ],
        ids=["x*x+x", "x*x", "2x+3x", "9x*x+3x", "x**4"],
    )
    def test_repeated_use(self, shape, function, at, slope):
        (x,) = self.leaves(shape, at)
        function(x).backward()
        close(x.grad, np.full(shape, slope), atol=0)

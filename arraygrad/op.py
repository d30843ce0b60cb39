"""How an operation is declared, and what a declaration becomes.

    @elementwise(lambda g, x2: g * x2, lambda g, x1: g * x1)
    def multiply(xp, x1, x2, /): ...

A declaration is a forward written against a namespace `xp`, and for each array input a rule: the linear
map from the output's cotangent `g` to the input's. The names of a rule's parameters say what is saved for
it, and nothing else is: `g` and then, if wanted, `xp`, an input by its name, `out`, `<input>_shape`,
`<input>_dtype`, `<input>_device`, or another parameter of the forward by its name. Rules without a name
belong to the positional-only parameters in their order, rules given by keyword to the input so named.
The inputs are the parameters annotated as ArrayLike.

The kinds say how the inputs enter, so that forward mode and batching can be derived:

    elementwise   broadcasts; the rule with a tangent in place of `g` is the tangent
    linear        linear in its one input
    multilinear   linear in each input; broadcasts
    general       anything else
    constant      has no gradient and records nothing
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Concatenate, ParamSpec, Protocol, cast

from arraygrad import calling, record
from arraygrad.backends import Array
from arraygrad.tensor import Tensor

P = ParamSpec("P")


class Declare(Protocol):
    """A decorator: users see the forward without its `xp`, and it returns a Tensor."""

    def __call__(self, forward: Callable[Concatenate[Any, P], Array], /) -> Callable[P, Tensor]:
        """Make the callable."""
        ...


#: Every operation by its name.
OPS: dict[str, Op] = {}


@dataclass(slots=True)
class Rule:
    """The rule of one input, with what its parameter names ask for."""

    function: Callable[..., Any]
    wants_xp: bool
    names: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Op:
    """A declaration, checked and taken apart."""

    name: str
    kind: str
    forward: Callable[..., Array]
    signature: inspect.Signature
    inputs: tuple[str, ...]
    rules: dict[str, Rule]
    broadcasts: bool
    is_view: bool
    is_holomorphic: bool
    #: The named tuple class of several outputs.
    outputs: Any
    #: What each saved value is: an input with the position of its edge, an output, or None for anything else.
    sources: tuple[tuple[str, int | None] | None, ...]
    node_name: str = ""
    run: Callable[..., Sequence[Any]] = field(default=lambda xp, g, saved, edges: ())

    @property
    def takes_sequence(self) -> bool:
        """Whether the one input is a sequence of arrays: its rule returns a gradient for each."""
        return self.inputs == ("arrays",)

    @property
    def saves(self) -> dict[str, tuple[str, ...]]:
        """For each input with a rule, the names that are saved for it."""
        return {name: rule.names for name, rule in self.rules.items()}


def elementwise(*rules: Callable[..., Any], is_holomorphic: bool = True, **named: Callable[..., Any]) -> Declare:
    """Declare an operation on each element; its inputs broadcast.

    `is_holomorphic=False`: the rules are right for complex results as they stand (see engine.py).
    """
    return _declare("elementwise", rules, named, broadcasts=True, is_holomorphic=is_holomorphic)


def linear(rule: Callable[..., Any], *, is_view: bool = False, broadcasts: bool = False) -> Declare:
    """Declare an operation that is linear in its one input.

    `is_view`: the result may share memory with the input. `broadcasts`: the engine undoes it.
    """
    return _declare("linear", (rule,), {}, broadcasts=broadcasts, is_view=is_view)


def multilinear(*rules: Callable[..., Any], is_holomorphic: bool = True, **named: Callable[..., Any]) -> Declare:
    """Declare an operation that is linear in each input, with batches that broadcast."""
    return _declare("multilinear", rules, named, broadcasts=True, is_holomorphic=is_holomorphic)


def general(
    *rules: Callable[..., Any],
    is_view: bool = False,
    is_holomorphic: bool = True,
    broadcasts: bool = False,
    outputs: Any = None,
    **named: Callable[..., Any],
) -> Declare:
    """Declare an operation of no simpler kind.

    `outputs`: a class made by NamedTuple, where there are several. A rule's `g` is then a list with the
    cotangent of each, None where none came, and it may ask for an output by its name.
    """
    return _declare(
        "general",
        rules,
        named,
        is_view=is_view,
        is_holomorphic=is_holomorphic,
        broadcasts=broadcasts,
        outputs=outputs,
    )


def constant(forward: Callable[Concatenate[Any, P], Array], /) -> Callable[P, Tensor]:
    """Declare an operation without a gradient: piecewise constant, or of integers and booleans."""
    return _declare("constant", (), {})(forward)


def _declare(
    kind: str,
    rules: tuple[Callable[..., Any], ...],
    named: dict[str, Callable[..., Any]],
    *,
    broadcasts: bool = False,
    is_view: bool = False,
    is_holomorphic: bool = True,
    outputs: Any = None,
) -> Declare:
    def declare(forward: Callable[Concatenate[Any, P], Array]) -> Callable[P, Tensor]:
        signature = inspect.signature(forward)
        xp, *parameters = signature.parameters.values()
        positional = [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY]
        rule_of = dict(zip(positional, rules, strict=False)) | named
        name = forward.__name__.lstrip("_")
        inputs = tuple(p.name for p in parameters if "ArrayLike" in str(p.annotation))
        if xp.name != "xp" or len(rules) > len(positional) or not rule_of.keys() <= set(inputs):
            raise TypeError(
                f"{name}: the forward takes xp first, and each rule needs an input: a parameter annotated as "
                f"ArrayLike, positional-only or named with its rule; found the inputs {list(inputs)}"
            )
        op = Op(
            name=name,
            kind=kind,
            forward=forward,
            signature=signature.replace(parameters=parameters, return_annotation="Tensor"),
            inputs=inputs,
            rules={key: _rule(name, rule, [p.name for p in parameters], outputs) for key, rule in rule_of.items()},
            broadcasts=broadcasts,
            is_view=is_view,
            is_holomorphic=is_holomorphic and outputs is None,
            outputs=outputs,
            sources=(),
            node_name="".join(part.capitalize() for part in name.split("_")) + "Backward",
        )
        op.sources = tuple(_source(op, name) for rule in op.rules.values() for name in rule.names)
        op.run = _runner(op)
        OPS.setdefault(name, op)  # one of the user's must not stand in for one of ours
        call = calling.caller(op)
        functools.update_wrapper(call, forward)
        del call.__wrapped__  # type: ignore[attr-defined]  # or tools would show the forward, with its xp
        call.__signature__ = op.signature  # type: ignore[attr-defined]
        return cast("Callable[P, Tensor]", call)

    return declare


def operator(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The method of a Python operator for an operation on one or two arrays, and its reflected form."""
    op = OPS[name]
    if len(op.inputs) == 1:
        method = record.unary(op)
        return method, method
    method = record.binary(op, as_operator=True)
    return method, lambda self, other: method(other, self)


def _rule(op: str, function: Callable[..., Any], parameters: list[str], outputs: Any) -> Rule:
    """Take a rule apart; whatever it asks for must exist."""
    g, *names = _parameters(function)
    known = {
        *(("out",) if outputs is None else outputs._fields),
        *parameters,
        *(f"{p}_{fact}" for p in parameters for fact in ("shape", "dtype", "device")),
    }
    wants_xp = names[:1] == ["xp"]
    names = names[wants_xp:]
    if g != "g" or not known.issuperset(names):
        raise TypeError(f"{op}: a rule asks for {[g, *names]}; it may ask for g first, then xp, then {sorted(known)}")
    return Rule(function, wants_xp, tuple(names))


def _parameters(function: Callable[..., Any]) -> Sequence[str]:
    """The names of a rule's parameters. (A signature would take ten times as long, at each import.)"""
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or code.co_kwonlyargcount:
        return list(inspect.signature(function).parameters)
    names: tuple[str, ...] = code.co_varnames
    return names[: code.co_argcount]


def _source(op: Op, name: str) -> tuple[str, int | None] | None:
    """Where a saved value comes from."""
    if name in op.inputs:
        return "input", list(op.rules).index(name) if name in op.rules else None
    if op.outputs is None:
        return ("output", None) if name == "out" else None
    return ("output", op.outputs._fields.index(name)) if name in op.outputs._fields else None


# ---- Backward: from a node's saved boxes to the gradients of its inputs


def _runner(op: Op) -> Callable[..., Sequence[Any]]:
    """Make the function that runs all rules of an operation, without a loop in the common cases.

    What it buys on 4 elements: 1.6 us for each node with two rules, against the last, general form.
    """
    rules = list(op.rules.values())
    functions = [rule.function for rule in rules]
    counts = [len(rule.names) for rule in rules]
    if not any(rule.wants_xp for rule in rules):
        if counts == [0]:
            (rule,) = functions
            return lambda xp, g, saved, edges: (rule(g),)
        if counts == [1]:
            (rule,) = functions

            def run_unary(xp: Any, g: Array, saved: Any, edges: Any) -> Sequence[Any]:
                ((value,),) = saved
                return (rule(g, value),)

            return run_unary
        if counts == [0, 0]:
            rule1, rule2 = functions
            return lambda xp, g, saved, edges: (
                None if edges[0] is None else rule1(g),
                None if edges[1] is None else rule2(g),
            )
        if counts == [1, 1]:
            rule1, rule2 = functions
            # In `x * x` one product serves both: of 10**6 elements, in two thirds of the time.
            is_symmetric = _are_same(rule1, rule2)

            def run_binary(xp: Any, g: Array, saved: Any, edges: Any) -> Sequence[Any]:
                box1, box2 = saved
                if is_symmetric and box1 is box2:
                    grad = rule1(g, box1[0])
                    return grad, grad
                return (
                    None if edges[0] is None else rule1(g, box1[0]),
                    None if edges[1] is None else rule2(g, box2[0]),
                )

            return run_binary
    calls = [rule.function if rule.wants_xp else functools.partial(_without_xp, rule.function) for rule in rules]
    if len(calls) == 1:
        (call,) = calls
        if op.takes_sequence:
            return lambda xp, g, saved, edges: call(g, xp, *map(_first, saved))
        return lambda xp, g, saved, edges: (call(g, xp, *map(_first, saved)),)
    starts = [sum(counts[:i]) for i in range(len(counts))]
    plan = [
        (i, call, slice(start, start + n)) for i, (call, start, n) in enumerate(zip(calls, starts, counts, strict=True))
    ]
    return lambda xp, g, saved, edges: [
        None if edges[i] is None else call(g, xp, *map(_first, saved[part])) for i, call, part in plan
    ]


def _are_same(rule1: Callable[..., Any], rule2: Callable[..., Any]) -> bool:
    """Tell whether two rules are one function of `g` and what is saved: sure of it, with nothing from elsewhere."""
    codes = [getattr(rule, "__code__", None) for rule in (rule1, rule2)]
    facts = [(c.co_code, c.co_consts, c.co_names, c.co_freevars) for c in codes if c is not None]
    return len(facts) == 2 and facts[0] == facts[1] and not facts[0][2] and not facts[0][3]


_first = itemgetter(0)


def _without_xp(function: Callable[..., Any], g: Array, xp: Any, *values: Any) -> Any:
    return function(g, *values)

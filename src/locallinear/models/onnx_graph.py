"""A fitted model as an ONNX graph, for programs without Python: the paper's Algorithm 2 in nodes.

The graph computes in double precision, and adds and divides in the order of the library, so that
ties between neighbours are decided alike. One query after the other is compared with all samples
(`Scan`): memory is that of the samples, and time grows with their number. Axis letters as in
`kernels`: n samples, d features, K neighbours, k anchors, m targets.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from ..arrays import to_numpy
from ..checks.arguments import check_enough_samples
from ..checks.parameters import check_after_fit
from ..geometry.nearness import Distance
from ..geometry.quantile import QuantileSpace
from ..geometry.spaces import AffineSpace, Space, WeightedSpace
from ..kernels.local.probabilities import MOST_SAMPLES, TIE_DECIMALS
from ..runtime.extras import extra
from .onnx_nodes import Nodes

# Versions that programs of 2022 and later read.
OPSET, IR_VERSION = 17, 8
# A file of ONNX holds two gigabytes at most.
MOST_BYTES = 2**31 - 2**20


def onnx_graph(model: Any) -> Any:
    """The graph of a fitted FALLRegressor or FALLClassifier, as an `onnx.ModelProto`.

    Its input is X (q, d) in float64. A regressor's output is `prediction`, (q,) or (q, m) as y was,
    and a classifier has `label` (q,) and `probabilities` (q, m).
    """
    _check_has_graph(model)
    onnx = extra("onnx", None, "ONNX graphs")
    nodes = Nodes(onnx)
    scores = _for_each_query(nodes, model)
    if is_classifier(model):
        outputs = _class_outputs(nodes, model, scores)
    else:
        outputs = [_regression_output(nodes, model, scores)]
    _check_size(nodes.constants)
    double = onnx.TensorProto.DOUBLE
    X = onnx.helper.make_tensor_value_info("X", double, ["q", model.n_features_in_])
    graph = onnx.helper.make_graph(nodes.nodes, "FALL", [X], outputs, nodes.constants)
    made = onnx.helper.make_model(
        graph,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="locallinear",
    )
    onnx.checker.check_model(made)
    return made


def _check_has_graph(model: Any) -> None:
    """Refuse what cannot be written down in nodes."""
    check_after_fit(model)
    fitted = model.fitted
    if not isinstance(fitted.geometry.nearness, Distance):
        raise ValueError(
            f"to_onnx is for neighborhood 'euclidean' or 'learned', but this model has "
            f"{model.neighborhood!r}: ONNX has no operator for shared leaves of trees. Save the "
            "model with save, and load it in Python"
        )
    if callable(model.weights):
        raise ValueError(
            "to_onnx is for weights 'distance' or 'uniform', but this model's are a function of "
            "Python, which cannot be written to a graph"
        )
    check_enough_samples(model.n_neighbors, fitted.samples.n_searchable)


def _check_size(constants: list[Any]) -> None:
    """Refuse constants that would not fit into a file."""
    size = sum(len(each.raw_data) for each in constants)
    if size > MOST_BYTES:
        raise ValueError(
            f"a graph of ONNX holds 2 GB at most, but this model needs {size / 1e9:.1f} GB for its "
            "samples and anchor models; fit it on fewer samples"
        )


# --- One query: where it is, its neighbours, their shares, their models --------------------------


def _for_each_query(nodes: Nodes, model: Any) -> str:
    """A loop over the rows of X; returns the name of the predictions (q, m)."""
    helper, double = nodes.onnx.helper, nodes.types.DOUBLE
    body = Nodes(nodes.onnx, nodes)
    predicted = _predict_one(body, model)
    graph = helper.make_graph(
        body.nodes,
        "one_query",
        [helper.make_tensor_value_info("x", double, [model.n_features_in_])],
        [helper.make_tensor_value_info(predicted, double, [model.fitted.models.shape[2]])],
    )
    return nodes("Scan", "X", body=graph, num_scan_inputs=1)


def _predict_one(nodes: Nodes, model: Any) -> str:
    """The prediction (m,) of one query x (d,)."""
    fitted = model.fitted
    samples, space, nearness = fitted.samples, fitted.geometry.space, fitted.geometry.nearness
    mask = samples.searchable
    found = np.arange(samples.n_stored) if mask is None else np.flatnonzero(to_numpy(mask))
    Z = nodes.constant(to_numpy(samples["Z"])[found].T)  # (d, n)
    points = Z
    if "points" in samples:
        points = nodes.constant(to_numpy(samples.points)[found].T)
    z = _located(nodes, space, "x")
    point, n_features = _point(nodes, nearness, z), samples.points.shape[1]
    distances, near = _nearest(nodes, points, point, n_features, model.n_neighbors)
    weights = samples.get("weights")
    own = None if weights is None else nodes("Gather", to_numpy(weights)[found], near)
    shares = _shares(nodes, distances, model.weights, own, model.n_neighbors)
    return _averaged(nodes, model, found, Z, z, near, shares)


def _located(nodes: Nodes, space: Space, x: str) -> str:
    """A query in the feature space, (d,)."""
    if isinstance(space, WeightedSpace):
        return nodes("Mul", _located(nodes, space.base, x), to_numpy(space.multipliers))
    if isinstance(space, AffineSpace):
        if space.is_identity:
            return x
        return nodes("Div", nodes("Sub", x, to_numpy(space.shift)), to_numpy(space.scale))
    return _rank(nodes, space, x)


def _rank(nodes: Nodes, space: QuantileSpace, x: str) -> str:
    """A query in the space of ranks, (d,): each feature's piecewise linear map, continued."""
    ranks = []
    for j, (knots, heights, (before, after)) in enumerate(space.features()):
        value = nodes("Gather", x, [j])
        knots, heights = to_numpy(knots), to_numpy(heights)
        is_below = nodes("LessOrEqual", knots, value)
        n_below = nodes("ReduceSum", nodes("Cast", is_below, to=nodes.types.INT64), keepdims=1)
        at = nodes("Max", nodes("Sub", n_below, [1]), [0])
        # Behind the last knot the map is continued below, so that the slope in it is 0.
        slopes = np.append(np.diff(heights) / np.diff(knots), 0.0)
        inside = nodes("Max", value, knots[:1])
        past = nodes("Sub", inside, nodes("Gather", knots, at))
        rise = nodes("Mul", nodes("Gather", slopes, at), past)
        rank = nodes("Add", rise, nodes("Gather", heights, at))
        below = nodes("Min", nodes("Sub", value, knots[:1]), [0.0])
        above = nodes("Max", nodes("Sub", value, knots[-1:]), [0.0])
        rank = nodes("Add", rank, nodes("Mul", [float(before)], below))
        ranks.append(nodes("Add", rank, nodes("Mul", [float(after)], above)))
    return nodes("Concat", *ranks, axis=0)


def _point(nodes: Nodes, nearness: Distance, z: str) -> str:
    """Where a located query is for the neighbour search."""
    if nearness.features is not None:
        z = nodes("Gather", z, nearness.features)
    return z if nearness.multipliers is None else nodes("Mul", z, to_numpy(nearness.multipliers))


def _nearest(
    nodes: Nodes, points: str, point: str, n_features: int, n_neighbors: int
) -> tuple[str, str]:
    """Distances and numbers of the nearest samples, both (K,); of equal ones the first is nearer.

    Squares are added feature by feature, as the library does: any other order rounds otherwise,
    and decides ties otherwise.
    """
    squares = ""
    for f in range(n_features):
        apart = nodes("Sub", nodes("Gather", points, f), nodes("Gather", point, f))
        square = nodes("Mul", apart, apart)
        squares = nodes("Add", squares, square) if squares else square
    far = nodes("Sqrt", squares)
    found = nodes("TopK", far, [n_neighbors], outputs=2, axis=0, largest=0, sorted=1)
    return found[0], found[1]


def _shares(
    nodes: Nodes, distances: str, rule: str, sample_weights: str | None, n_neighbors: int
) -> str:
    """Weights of neighbours (K,) that sum to one: `distance_weights`, `cut_at`, `normalised`."""
    double = nodes.types.DOUBLE
    if rule == "uniform":
        weights = nodes.constant(np.ones(n_neighbors))
    else:
        nearest = nodes("Gather", distances, [0])
        is_exact = nodes("Cast", nodes("Equal", distances, [0.0]), to=double)
        # 0/0 where a match is exact: such quotients are not taken.
        inverse = nodes("Div", nearest, distances)
        weights = nodes("Where", nodes("Greater", nearest, [0.0]), inverse, is_exact)
    if sample_weights is not None:
        before = nodes("Sub", nodes("CumSum", sample_weights, 0), sample_weights)
        left = nodes("Max", nodes("Sub", [float(n_neighbors)], before), [0.0])
        weights = nodes("Mul", weights, nodes("Min", left, sample_weights))
    total = nodes.sum(weights)
    even = np.full(n_neighbors, 1.0 / n_neighbors)
    some = nodes("Greater", total, [0.0])
    return nodes("Where", some, nodes("Div", weights, nodes("Where", some, total, [1.0])), even)


def _averaged(
    nodes: Nodes, model: Any, found: NDArray[np.intp], Z: str, z: str, near: str, shares: str
) -> str:
    """The prediction (m,) of the averaged models: `kernels.local.combine.predict`."""
    fitted, samples = model.fitted, model.fitted.samples
    inputs, models = to_numpy(samples["Z"])[found], to_numpy(fitted.models)
    d, m = inputs.shape[1], models.shape[2]
    sizes = model.alpha + fitted.constant + np.einsum("nd,nd->n", inputs, inputs)
    row = nodes("Reshape", z, [1, d])
    inner = nodes("MatMul", row, nodes("Gather", Z, near, axis=1))  # (1, K)
    inner = nodes("Add", inner, [float(fitted.constant)])
    factors = nodes("Div", nodes("Mul", inner, shares), nodes("Gather", sizes, near))
    residuals = to_numpy(samples["residuals"])[found]
    correction = nodes("MatMul", factors, nodes("Gather", residuals, near))  # (1, m)
    labels = nodes("Gather", to_numpy(samples["labels"])[found].astype(np.int64), near)
    coef = nodes.constant(models[:, :-1].transpose(0, 2, 1).reshape(len(models), m, d))
    by_anchor = nodes("MatMul", nodes("Gather", coef, labels), nodes("Reshape", z, [d, 1]))
    by_anchor = nodes("Reshape", by_anchor, [-1, m])  # (K, m)
    by_anchor = nodes("Add", by_anchor, nodes("Gather", models[:, -1], labels))
    anchors = nodes("MatMul", nodes("Reshape", shares, [1, -1]), by_anchor)
    return nodes("Reshape", nodes("Add", anchors, correction), [m])


# --- What users get ------------------------------------------------------------------------------


def _regression_output(nodes: Nodes, model: Any, scores: str) -> Any:
    """Predictions in the shape that y had."""
    m = model.fitted.models.shape[2]
    if model.one_target:
        return nodes.output("prediction", nodes("Reshape", scores, [-1]), ["q"])
    return nodes.output("prediction", nodes("Reshape", scores, [-1, m]), ["q", m])


def _class_outputs(nodes: Nodes, model: Any, scores: str) -> list[Any]:
    """The classes, and their probabilities: `kernels.local.probabilities.class_probabilities`."""
    known, classes = model.probability_map, model.classes_
    behind = nodes("Sub", scores, nodes("ReduceMax", scores, axes=[1], keepdims=1))
    tie = 10.0**TIE_DECIMALS
    behind = nodes("Div", nodes("Round", nodes("Mul", nodes("Max", behind, -1.0), tie)), tie)
    n = min(known["n"], MOST_SAMPLES)
    likely = nodes("Add", nodes("Mul", _projected(nodes, behind, len(classes)), float(n)), 1.0)
    likely = nodes("Div", likely, float(n + len(classes)))
    if (known["slope"], known["power"]) != (0.0, 1.0):
        first = nodes("Mul", behind, float(known["slope"]))
        logits = nodes("Add", first, nodes("Mul", nodes("Log", likely), float(known["power"])))
        largest = nodes("ReduceMax", logits, axes=[1], keepdims=1)
        odds = nodes("Exp", nodes("Sub", logits, largest))
        likely = nodes("Div", odds, nodes.sum(odds))
    best = nodes("ArgMax", likely, axis=1, keepdims=0)
    names = _class_names(classes)
    label = nodes("Gather", names, best)
    return [
        nodes.output("label", label, ["q"], names),
        nodes.output("probabilities", likely, ["q", len(classes)]),
    ]


def _projected(nodes: Nodes, behind: str, m: int) -> str:
    """The nearest points (q, m) of the simplex to scores relative to the largest."""
    double = nodes.types.DOUBLE
    ordered, _ = nodes("TopK", behind, [m], outputs=2, axis=1, largest=1, sorted=1)
    above = nodes("Sub", nodes("CumSum", ordered, 1), 1.0)
    excess = nodes("Div", above, np.arange(1.0, m + 1))
    is_positive = nodes("Cast", nodes("Greater", ordered, excess), to=double)
    # The last of those that are positive has the threshold.
    n_positive = nodes("Cast", nodes.sum(is_positive, 1), to=nodes.types.INT64)
    threshold = nodes("GatherElements", excess, nodes("Sub", n_positive, 1), axis=1)
    positive = nodes("Max", nodes("Sub", behind, threshold), 0.0)
    return nodes("Div", positive, nodes.sum(positive, 1))


def _class_names(classes: NDArray) -> NDArray:
    """Classes as ONNX can hold them: numbers, true and false, or texts."""
    if classes.dtype.kind in "iub":
        return classes.astype(np.int64)
    if classes.dtype.kind == "f":
        return classes.astype(np.float64)
    if all(isinstance(each, str) for each in classes.tolist()):
        return classes.astype(object)
    raise ValueError(
        "to_onnx is for classes that are texts or numbers, but this model has "
        f"{classes.tolist()[:3]}; fit it with texts or numbers"
    )

"""What `fit` learns does not depend on the way that options lead to it."""

import pytest

from houses import houses
from locallinear.cli.learning import as_problem, make_model
from locallinear.tables.procedure import CLASS_SCORING
from locallinear.tables.table import as_table

OPTIONS = {"model": "single", "grid": "default", "scaling": None, "target_scale": "auto"}
OPTIONS |= {"jobs": 1, "seed": 0}
GRID = {"n_anchors": [3], "n_neighbors": [3, 5]}


@pytest.mark.parametrize("given", [{}, {"scaling": "standard"}, {"grid": GRID}], ids=str)
@pytest.mark.parametrize(("target", "scoring"), [("kind", CLASS_SCORING), ("price", None)])
def test_options_do_not_change_what_a_search_minimises(target, scoring, given):
    table = as_table(houses().drop(columns=[n for n in ("kind", "price", "rent") if n != target]))
    problem = as_problem(table, (target,), {})
    model = make_model(problem, OPTIONS | given, 0.5, 0)
    assert model.fit(problem.table, problem.named_targets()).search_.scoring == scoring

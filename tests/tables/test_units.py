"""Cells that had a unit in training: numbers without one, or with another one, at prediction."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from commands import call, refused, written
from locallinear import FALLRegressor, TableRegressor, load
from locallinear.tables.table import TableError

N = 60
SIZES = np.random.default_rng(0).uniform(1, 9, N).round(1)
CELLS = {
    "percent": [f"{x} %" for x in SIZES],
    "money": [f"${1000 * x:,.0f}" for x in SIZES],
    "text durations": [f"{60 * x:.0f} min" for x in SIZES],
    "durations": pd.to_timedelta(SIZES, "h"),
    "numbers": SIZES,
}


def fitted(kind):
    frame = pd.DataFrame({"cost": CELLS[kind], "other": SIZES[::-1]})
    few = FALLRegressor(2, n_neighbors=5, random_state=0)
    return TableRegressor(few, target="identity", random_state=0).fit(frame, SIZES), frame


REFUSED = [
    ("percent", [0.05], "expected a percentage such as '12 %', as in training, but found '0.05'"),
    ("percent", ["5"], "expected a percentage such as '12 %', as in training, but found '5"),
    ("percent", ["5 %", "0.05"], "row 2, column 'cost': expected a percentage"),
    ("text durations", [1.5], "expected a duration such as '1:30:00' or '90 min', as in training"),
    ("durations", [90], "could be hours, minutes or seconds: write the unit into the cells"),
    ("money", ["€500"], "expected an amount in USD, as in training, but found '€500'"),
    ("money", ["$500", "500 CHF"], "row 2, column 'cost': expected an amount in USD"),
    ("numbers", ["5 %"], "expected a number, but found '5 %'"),
    ("numbers", [pd.Timedelta("5h")], "expected a number, as in training, but found '0 days"),
]


@pytest.mark.parametrize(("kind", "cells", "said"), REFUSED)
def test_a_number_that_could_have_another_unit_is_refused(kind, cells, said):
    model, _ = fitted(kind)
    new = pd.DataFrame({"cost": cells, "other": [1.0] * len(cells)})
    for call_with in (model.predict, model.explain, model.predict_interval, model.notes):
        with pytest.raises(TableError) as caught:
            call_with(new)
        assert said in str(caught.value)
    with pytest.raises(TableError):
        model.partial_fit(new, [1.0] * len(cells))


@pytest.mark.parametrize(("kind", "cells", "said"), REFUSED[:4] + REFUSED[5:8])
def test_a_file_is_refused_in_the_same_words(kind, cells, said, tmp_path):
    model, _ = fitted(kind)
    model.save(tmp_path / "a.model")
    new = written(tmp_path, pd.DataFrame({"cost": cells, "other": [1.0] * len(cells)}))
    for command in ("predict", "explain"):
        assert said in refused(command, tmp_path / "a.model", new)


def test_zero_is_zero_in_all_units_and_gaps_are_gaps():
    model, frame = fitted("percent")
    new = pd.DataFrame({"cost": ["0", "0 %", 0, None], "other": 1.0})
    predicted = model.predict(new)
    assert_allclose(predicted[1:3], predicted[0])
    assert np.isfinite(predicted[3])
    assert model.notes(frame) == []


def test_amounts_without_a_currency_are_read_and_noted(tmp_path, path):
    model, frame = fitted("money")
    model.save(path)
    bare = pd.DataFrame({"cost": [round(1000 * x) for x in SIZES.tolist()], "other": SIZES[::-1]})
    assert_allclose(load(path).predict(bare), model.predict(frame))
    (note,) = load(path).notes(bare)
    assert "has numbers without a currency in 60 of 60 rows, but nearly all had one in" in note
    assert "amounts in USD" in note
    assert note in call("predict", path, written(tmp_path, bare)).stderr
    dollars = frame.assign(cost=[f"{1000 * x:.0f} USD" for x in SIZES])
    assert model.notes(dollars) == []


def test_several_currencies_in_training_are_named():
    cells = [f"{'$€'[i % 2]}{100 * x:.0f}" for i, x in enumerate(SIZES)]
    model = TableRegressor(FALLRegressor(2, random_state=0), target="identity", random_state=0)
    model.fit(pd.DataFrame({"cost": cells}), SIZES)
    assert "amounts of money in EUR, USD, which are not converted" in model.encoding_["encoding"][0]

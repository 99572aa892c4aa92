"""Equations, slopes and names of regimes say what dates and durations are counted in."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from locallinear import FALLRegressor, TableRegressor
from locallinear.cli.summary import regime_lines
from locallinear.explain import ContributionDisplay, EffectDisplay, report_data
from locallinear.explain.row_text import row_lines

DAYS = pd.date_range("2010-01-01", periods=200, freq="W").strftime("%d.%m.%Y")


@pytest.fixture(scope="module")
def rows():
    """A price that rises with the years, and after two of them faster with the hours."""
    rng = np.random.default_rng(0)
    hours, years = rng.uniform(1, 3, 200), np.arange(200) * 7 / 365.2425
    frame = pd.DataFrame({"sold": DAYS, "wait": [f"{60 * h:.0f} min" for h in hours]})
    return frame.assign(y=12 * years + np.where(years > 2, 40, 10) * hours)


@pytest.fixture(scope="module")
def model(rows):
    ends = [[0.5, 0, 0, 2], [3.3, 0, 0, 2]]
    options = {"n_anchor_neighbors": 60, "anchor_alpha": 1e-6, "assignment_neighbors": 15}
    few = FALLRegressor(2, anchor_selection=ends, alpha=100.0, n_neighbors=10, **options)
    return TableRegressor(few, target="identity", random_state=0).fit(rows, "y")


def test_equations_name_the_unit_in_the_terminal_and_on_the_page(model):
    text = " ".join(" ".join(regime_lines(model, model.companion())).split())
    assert "· sold (years since 2010-01-03)" in text
    assert "· wait (hours)" in text
    terms = report_data(model, max_rows=5)["regimes"][0]["equations"][0]["terms"]
    units = {term["feature"]: term["unit"] for term in terms}
    assert units["sold"] == "years since 2010-01-03"
    assert units["wait"] == "hours"
    assert all(not unit for name, unit in units.items() if ":" in name)


def test_regimes_are_early_or_late_and_their_range_is_in_days(model):
    regimes = report_data(model, max_rows=5)["regimes"]
    tags = [tag for regime in regimes for tag in regime["distinguishing"] if "range" in tag]
    found = {tag["side"]: tag["range"] for tag in tags if tag["feature"] == "sold"}
    assert set(found) == {"early", "late"}
    assert all(len(day) == 10 for days in found.values() for day in days.split(" to "))
    assert found["early"] < found["late"]
    assert {regime["name"].split(" ")[0] for regime in regimes} <= {"early", "late"}


def test_the_slope_of_a_date_is_that_of_its_trend_per_year(model, rows):
    why = model.explain_samples(np.arange(60, 70))
    assert_allclose(why.slopes[:, 0], why.encoded.slopes[:, 0])
    assert_allclose(why.slopes_std[:, 0], why.encoded.slopes_std[:, 0])
    lines = row_lines(ContributionDisplay.from_explanation(why))
    assert any("sold" in line and " per year" in line for line in lines)
    assert any("wait" in line and " per hour" in line for line in lines)
    data = report_data(model, Xq=rows[60:120].drop(columns="y"))
    assert data["per"] == ["per year", "per hour"]
    slopes = np.array(data["rows"]["coef"])[:10, 0]
    assert_allclose(slopes, model.explain(rows[60:70]).slopes[:, :, 0], rtol=1e-6)


def test_axes_name_the_unit(model, rows):
    shown = EffectDisplay.from_estimator(model, rows, "wait").plot()
    assert shown.ax_.get_xlabel() == "wait (hours)"
    effects = {one["part"]: one for one in report_data(model, max_rows=5)["effects"]}
    labels = {name: one["label"] for name, one in effects.items()}
    trend = EffectDisplay.from_estimator(model, rows, "sold")
    assert trend.label == "sold (years since 2010-01-03)"
    assert labels["sold: trend"] == "sold"
    assert all(pd.Timestamp(day).year >= 2010 for day in effects["sold: trend"]["grid"])


def test_groups_are_before_and_after_a_day():
    rng = np.random.default_rng(0)
    days = pd.date_range("2020-01-01", periods=400)
    size = rng.uniform(0, 10, 400)
    frame = pd.DataFrame({"day": days, "size": size})
    y = np.where(np.arange(400) < 200, 1.0, 9.0) * size
    few = FALLRegressor(40, n_neighbors=10, random_state=0)
    model = TableRegressor(few, target="identity", random_state=0).fit(frame, y)
    (found,) = report_data(model, max_rows=200)["drivers"]["groups"]
    names = [group["name"] for entry in found for group in entry["groups"]]
    assert any(name.startswith("day before 2020-") for name in names), names

"""The simulated rentals: what the Bunch says is the truth about its table."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from locallinear.datasets import make_rentals
from locallinear.datasets._rentals import NUMBERS, WEEKDAYS, rentals_law


@pytest.fixture(scope="module")
def rentals():
    return make_rentals(20_000, random_state=0)


def law_by_hand(row):
    """One row's mean, written down once more from the formulas."""
    T, rain = row["temperature"], row["weather"] == "rain"
    if row["hour"] < 6 or row["hour"] > 22:
        return 60 + 1.5 * T - 15 * rain
    if row["weekday"] in {"Saturday", "Sunday"}:
        lunch = 200 * np.exp(-(((row["hour"] - 14) / 4) ** 2))
        clouds = row["weather"] == "cloudy"
        return 120 + 9 * T - 1.5 * row["wind"] - 60 * rain - 20 * clouds + lunch
    rush = 280 * np.exp(-(((row["hour"] - 8) / 1.5) ** 2))
    rush += 320 * np.exp(-(((row["hour"] - 17.5) / 2) ** 2))
    return 110 + 4 * T - 50 * rain + rush


def moments(values):
    return values.mean(), values.std()


# --- The truth -----------------------------------------------------------------------------------


def test_the_truth_is_the_formula_of_the_row_s_law(rentals):
    some = rentals.complete.iloc[:500]
    assert_allclose(rentals.truth[:500], [law_by_hand(row) for _, row in some.iterrows()])


def test_slopes_are_finite_differences_of_the_noiseless_mean(rentals):
    columns = {name: rentals.complete[name].to_numpy() for name in [*NUMBERS, "weather"]}

    def mean(moved, step):
        at = columns | {moved: columns[moved] + step}
        return rentals_law(rentals.law, at["hour"], at["weather"], at["temperature"], at["wind"])[0]

    for name in NUMBERS:
        difference = (mean(name, 1e-5) - mean(name, -1e-5)) / 2e-5
        assert_allclose(rentals.slopes[name], difference, atol=1e-6)


def test_the_target_is_the_truth_plus_noise(rentals):
    noise = rentals.target.to_numpy() - rentals.truth
    assert moments(noise) == pytest.approx((0, 15), abs=0.4)
    quiet = make_rentals(300, noise=0, random_state=0)
    assert_array_equal(quiet.target, quiet.truth)


def test_each_law_holds_where_its_name_says(rentals):
    named = np.array(rentals.law_names)[rentals.law]
    hour = rentals.complete["hour"]
    at_night = ~hour.between(6, 22)
    free = rentals.complete["weekday"].isin(["Saturday", "Sunday"])
    assert_array_equal(named == "night", at_night)
    assert_array_equal(named == "weekend", ~at_night & free)
    assert len(rentals.formulas) == len(rentals.law_names) == 3
    for name, formula in zip(rentals.law_names, rentals.formulas, strict=True):
        assert formula.startswith(name)
        assert formula in rentals.DESCR


def test_no_mean_is_below_zero(rentals):
    assert rentals.truth.min() > 0


# --- The table -----------------------------------------------------------------------------------


def test_the_columns_have_the_values_and_moments_that_the_description_announces(rentals):
    rows = rentals.complete
    assert sorted(rows["hour"].unique()) == list(range(24))
    assert set(rows["weekday"]) == set(WEEKDAYS)
    shares = rows["weather"].value_counts(normalize=True)
    assert shares[["clear", "cloudy", "rain"]].tolist() == pytest.approx(
        [0.45, 0.35, 0.2], abs=0.02
    )
    assert rows["temperature"].min() == 0
    assert moments(rows["temperature"]) == pytest.approx((15, 6.8), abs=0.3)
    assert moments(rows["wind"]) == pytest.approx((12, 6), abs=0.3)
    assert rows["humidity"].between(15, 100).all()


def test_humidity_follows_other_columns_and_counts_in_no_law(rentals):
    assert rentals.complete["humidity"].corr(rentals.complete["temperature"]) < -0.5
    assert (rentals.slopes["humidity"] == 0).all()


def test_gaps_have_their_share_in_four_columns_and_change_nothing_else(rentals):
    gaps = rentals.data.isna()
    assert not gaps[["hour", "weekday"]].any().any()
    assert gaps[["weather", "temperature", "humidity", "wind"]].mean().tolist() == pytest.approx(
        [0.03] * 4, abs=0.005
    )
    pd.testing.assert_frame_equal(rentals.data.mask(gaps, rentals.complete), rentals.complete)
    assert not make_rentals(50, missing=0, random_state=0).data.isna().any().any()


# --- Equivalences --------------------------------------------------------------------------------


def test_the_table_depends_on_the_random_state_alone():
    first, again = make_rentals(60, random_state=3), make_rentals(60, random_state=3)
    X, y = make_rentals(60, random_state=3, return_X_y=True)
    pd.testing.assert_frame_equal(first.frame, again.frame)
    pd.testing.assert_frame_equal(first.data, X)
    assert_array_equal(first.target, y)
    assert not np.array_equal(make_rentals(60, random_state=4).target, y)


def test_noise_and_gaps_leave_the_rows_as_they_are():
    first, other = (
        make_rentals(60, random_state=3),
        make_rentals(60, noise=1, missing=0.5, random_state=3),
    )
    pd.testing.assert_frame_equal(first.complete, other.complete)


def test_arrays_hold_the_same_as_frames():
    frames = make_rentals(40, missing=0.2, random_state=0)
    arrays = make_rentals(40, missing=0.2, random_state=0, as_frame=False)
    assert arrays.frame is None
    assert arrays.data.shape == (40, len(arrays.feature_names))
    assert_array_equal(arrays.slopes, frames.slopes)
    assert_array_equal(arrays.complete, frames.complete.to_numpy(dtype=object))
    assert_array_equal(pd.isna(arrays.data), frames.data.isna())


# --- Errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 0}, "n_samples must be a whole number from 1, but is 0"),
        ({"noise": -1.0}, "noise must be a standard deviation from 0, but is -1.0"),
        ({"missing": 1.5}, "missing must be a share from 0 to 1, but is 1.5"),
    ],
)
def test_numbers_that_make_no_table_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        make_rentals(**options)

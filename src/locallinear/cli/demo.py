"""The data of `locallinear demo`: bike rentals whose laws are known, and diabetes patients."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..datasets import make_rentals
from ..search.grids import GRIDS
from ..tables.table import Table, as_table

# Coefficients in the units of the table.
IN_UNITS = GRIDS["default"] | {"scaling": ["standard"]}
# Trees would take most of the time; on the rentals they are not chosen.
QUICK = IN_UNITS | {"neighborhood": ["euclidean", "learned"]}

N_RENTALS = 1200
N_NEW = 1000

DIABETES_COLUMNS = {
    "age": "age (years)",
    "sex": "sex",
    "bmi": "body mass index (kg/m²)",
    "bp": "blood pressure (mm Hg)",
    "s1": "total cholesterol (mg/dl)",
    "s2": "LDL (mg/dl)",
    "s3": "HDL (mg/dl)",
    "s4": "total cholesterol / HDL",
    "s5": "log of triglycerides",
    "s6": "blood sugar (mg/dl)",
}


@dataclass(frozen=True, eq=False)
class Example:
    """A table to show all steps on.

    Attributes
    ----------
    table : Table
    target : str
    grid : dict
        The configurations of the search.
    simulated, new : Bunch or None
        The simulation that the table comes from and another one of the same laws, where the truth
        is known.
    """

    table: Table
    target: str
    grid: dict[str, list]
    simulated: Any = None
    new: Any = None


def rentals() -> Example:
    """Hours of bike rentals, simulated: text, gaps and noise, and three known laws."""
    simulated = make_rentals(N_RENTALS, random_state=0)
    table = Table(as_table(simulated.frame).frame, "Bike rentals, simulated")
    return Example(table, "rentals", QUICK, simulated, make_rentals(N_NEW, random_state=1))


def diabetes() -> Example:
    """442 patients: ten measurements in their units, and the disease one year later."""
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes(as_frame=True, scaled=False)
    frame = bunch.data.rename(columns=DIABETES_COLUMNS).astype("float64")
    # The source codes the sexes as 1 and 2 and does not say which is which.
    frame["sex"] = frame["sex"].map({1.0: "code 1", 2.0: "code 2"}).astype(object)
    target = "progression after a year"
    frame[target] = bunch.target.astype("float64")
    return Example(Table(frame, "Diabetes, from scikit-learn"), target, IN_UNITS)


EXAMPLES: dict[str, Callable[[], Example]] = {"rentals": rentals, "diabetes": diabetes}

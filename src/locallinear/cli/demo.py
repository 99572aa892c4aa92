"""The data of `locallinear demo`: diabetes patients, from scikit-learn."""

from ..tables.table import Table

TARGET = "progression after a year"
COLUMNS = {
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


def diabetes() -> Table:
    """442 patients: ten measurements in their units, and the disease one year later."""
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes(as_frame=True, scaled=False)
    frame = bunch.data.rename(columns=COLUMNS).astype("float64")
    # The source codes the sexes as 1 and 2 and does not say which is which.
    frame["sex"] = frame["sex"].map({1.0: "1", 2.0: "2"}).astype(object)
    frame[TARGET] = bunch.target.astype("float64")
    return Table(frame, "Diabetes, from scikit-learn")

"""The published figures: means and 1.96 standard deviations over the paper's runs."""

from math import nan

Value = tuple[float, float]

# Mean and spread of the squared error on the test part (the paper's Table 1), of the seconds to
# train and of the seconds to test (Table 2). A spread of 0 is as printed.
FIGURES: dict[tuple[str, str], tuple[float, float, float, float, float, float]] = {
    ("concrete", "fall"): (42.16, 19.38, 0.06, 0.05, 0.01, 0.00),
    ("concrete", "network_lasso"): (49.85, 22.12, 16.58, 3.41, 0.19, 0.03),
    ("concrete", "knn"): (58.14, 26.85, 0.00, 0.00, 0.00, 0.00),
    ("concrete", "kernel_ridge"): (110.80, 33.57, 0.09, 0.08, 0.01, 0.02),
    ("concrete", "ridge"): (111.05, 33.92, 0.00, 0.00, 0.00, 0.00),
    ("concrete", "lasso"): (111.10, 33.88, 0.01, 0.00, 0.00, 0.00),
    ("superconductivity", "fall"): (129.66, 28.33, 1.24, 1.33, 5.90, 0.71),
    ("superconductivity", "knn"): (117.48, 18.77, 0.11, 0.02, 0.22, 0.08),
    ("superconductivity", "kernel_ridge"): (312.11, 25.82, 124.61, 109.20, 0.23, 0.13),
    ("superconductivity", "ridge"): (308.52, 22.56, 0.02, 0.01, 0.00, 0.01),
    ("superconductivity", "lasso"): (345.25, 99.80, 121.04, 125.75, 0.01, 0.01),
    ("aquatic", "fall"): (1.46, 0.74, 0.02, 0.05, 0.00, 0.00),
    ("aquatic", "network_lasso"): (1.72, 1.01, 5.31, 1.00, 0.07, 0.01),
    ("aquatic", "knn"): (1.81, 0.74, 0.00, 0.00, 0.00, 0.00),
    ("aquatic", "kernel_ridge"): (1.92, 0.75, 0.01, 0.01, 0.00, 0.01),
    ("aquatic", "ridge"): (1.58, 0.72, 0.00, 0.00, 0.00, 0.00),
    ("aquatic", "lasso"): (1.58, 0.71, 0.00, 0.00, 0.00, 0.00),
    ("fish", "fall"): (0.92, 0.48, 0.05, 0.05, 0.01, 0.00),
    ("fish", "network_lasso"): (0.98, 0.53, 13.23, 1.78, 0.14, 0.02),
    ("fish", "knn"): (0.91, 0.48, 0.00, 0.00, 0.00, 0.00),
    ("fish", "kernel_ridge"): (1.14, 0.57, 0.03, 0.04, 0.00, 0.01),
    ("fish", "ridge"): (0.99, 0.44, 0.00, 0.00, 0.00, 0.00),
    ("fish", "lasso"): (0.99, 0.44, 0.00, 0.00, 0.00, 0.00),
    ("parkinsons", "fall"): (20.76, 4.51, 0.25, 0.99, 0.27, 0.02),
    # "About 30 min" to train and "about 4 seconds" to test.
    ("parkinsons", "network_lasso"): (24.63, 6.89, 1800.0, nan, 4.0, nan),
    ("parkinsons", "knn"): (20.88, 4.29, 0.00, 0.00, 0.01, 0.00),
    ("parkinsons", "kernel_ridge"): (58.30, 5.50, 1.39, 0.51, 0.02, 0.01),
    ("parkinsons", "ridge"): (56.69, 5.26, 0.00, 0.00, 0.00, 0.01),
    ("parkinsons", "lasso"): (56.81, 5.20, 0.01, 0.01, 0.01, 0.01),
}
ERRORS: dict[tuple[str, str], Value] = {key: row[0:2] for key, row in FIGURES.items()}
TRAIN_S: dict[tuple[str, str], Value] = {key: row[2:4] for key, row in FIGURES.items()}
TEST_S: dict[tuple[str, str], Value] = {key: row[4:6] for key, row in FIGURES.items()}

# Printed by the paper with an asterisk: fixed parameters, times from a few runs.
UNTUNED = {("parkinsons", "network_lasso")}

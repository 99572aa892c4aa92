"""The solver of the network lasso and the localized lasso."""

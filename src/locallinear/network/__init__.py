"""The network lasso and the localized lasso, and their graph."""

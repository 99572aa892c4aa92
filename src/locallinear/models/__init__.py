"""FALL: the regressor and the classifier, their samples, and the explanation as data."""

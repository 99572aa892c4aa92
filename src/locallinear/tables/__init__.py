"""Files and frames in, columns understood: models of raw tables."""

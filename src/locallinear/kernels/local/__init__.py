"""FALL itself: anchor models, the choice of an anchor, the closed form, predictions."""

"""Feature spaces and the way back to units, learned weights, and who is near whom."""

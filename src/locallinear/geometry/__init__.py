"""Feature spaces and the way back to units, learned feature weights, and neighbours."""

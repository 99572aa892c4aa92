"""What may come in at the public door, and the sentences for what may not."""

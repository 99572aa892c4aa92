"""Trees that say who is near: growing them, and counting shared leaves."""

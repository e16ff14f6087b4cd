"""In-memory implementations of `roundhouse.ports`, for tests of whatever stands on the ports."""

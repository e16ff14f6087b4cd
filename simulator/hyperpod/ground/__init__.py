"""What a simulated region stands on: time, ids, capacity, the bill. Imports the standard library and the scenario."""

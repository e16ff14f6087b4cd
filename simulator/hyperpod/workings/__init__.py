"""What happens over time: launches, scaling, rules and status machines, repair. Imports the package's core."""

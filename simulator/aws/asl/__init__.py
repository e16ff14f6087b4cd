"""Step Functions executions by moto's ASL interpreter, with its corrections. Needs the simulator's packages."""

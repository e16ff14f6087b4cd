"""Step Functions executions by moto's ASL interpreter, with the corrections it needs. Needs the simulator's packages."""

"""How operations are answered: pages, reads, batches. Imports the workings and the package's core."""

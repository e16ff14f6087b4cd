"""SageMaker HyperPod for Slurm as it behaves: control plane, capacity, money, repair and its odd manners.

Imports the standard library, `roundhouse.errors`, `simulator.service` and the scenario. Requests come in validated
against the service model; the rules that the model does not know are in `rules` and `batches`.
"""

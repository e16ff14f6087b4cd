"""One folder per Lambda, verb_noun: handler.py (one screen) and settings.py. runtime.py wires ports to AWS."""

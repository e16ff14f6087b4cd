"""The demo: the main job on the embedded AWS, a play of acts that checks itself. Imports product and simulator.

Nothing here knows how Roundhouse works inside: an act uses what a person could use (the command, Slack, AWS's own
calls), and the checks look at what the simulated world, its call log and the records say afterwards.
"""

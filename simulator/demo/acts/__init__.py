"""The acts of the demo, one module each: `play(stage)` plays it and notes its checks."""

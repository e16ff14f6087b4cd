"""The CDK stacks, one file each; constructs/ holds what they share."""

"""Checkpoints: the whole state of a worktree, recorded beside it and brought back byte for byte."""

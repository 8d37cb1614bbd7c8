"""Ratios of ours against the bare engine, each taken in one process run; no absolute promises."""

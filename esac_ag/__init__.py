"""ESAC-AG: measure coding agents, and what instruction bundles do to them."""

__version__ = "0.1.0"

"""`python -m esac_ag`."""

from __future__ import annotations

from esac_ag.cli import entry

if __name__ == "__main__":
    entry()

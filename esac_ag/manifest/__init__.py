"""The sealed plan of a study: frozen records of the run manifest, format_version 2, and of task packages."""

"""The model gateway, the only peer of a command-line agent: holds the key, meters and records every call."""

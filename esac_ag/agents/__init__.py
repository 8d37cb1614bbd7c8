"""What acts in a container: one protocol, an implementation per kind."""

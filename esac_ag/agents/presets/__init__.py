"""How command-line agents are launched: pure, one module for each agent that this version knows."""

"""The loop tree: statements arranged into loops and phases."""

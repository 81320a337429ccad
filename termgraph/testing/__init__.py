"""Tools for developing and testing termgraph itself. Nothing here is needed to use it."""

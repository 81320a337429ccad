"""Pushing an index through terms: what every op does to an index, until only loads are left."""

"""The road from a user's graph to something that can be called: `road` is the list of its stages."""

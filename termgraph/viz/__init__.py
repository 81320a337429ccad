"""Looking at graphs: trees, one-line text, pictures. May import everything below it."""

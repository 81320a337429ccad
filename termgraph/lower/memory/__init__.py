"""Memory: which buffers share room, what is written in place, how arguments lie."""

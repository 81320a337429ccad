"""PyTensor's name for the room of graph classes: `termgraph.graph.basic.Apply` is `termgraph.Apply`."""

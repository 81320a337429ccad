"""Graphs of one example made graphs of many: what `tg.vmap` and `tg.jacobian` stand on."""

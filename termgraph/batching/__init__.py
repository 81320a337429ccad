"""Functions of one example made functions of many: `tg.vmap`."""

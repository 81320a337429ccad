"""The schedule: how the loops of a tree run best, in rows and tiles, beside products, in threads."""

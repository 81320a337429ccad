"""Storage: which terms are arrays in memory, and the library calls and routines that fill them."""

"""From C text to a library: compilers, what they complain of, the cache of compiled code."""

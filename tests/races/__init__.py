"""Whether what could run at once touches the same bytes, in compiled C and in emulated kernels."""

"""Backends: what turns a lowered program into running code. They import neither the rule database nor the rules."""

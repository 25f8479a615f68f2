"""mpc.compare, bisect, ranges and profile: where precision and time are lost."""

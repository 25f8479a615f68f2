"""mpc.compare, mpc.bisect and mpc.profile: where precision and time are lost."""

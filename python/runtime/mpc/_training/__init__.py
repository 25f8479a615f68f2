"""mpc.Trainer: the loop of `mpc train`, with the names of Hugging Face's Trainer."""

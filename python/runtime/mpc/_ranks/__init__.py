"""Several processes that train one program together."""

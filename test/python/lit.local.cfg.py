# They are built if nanobind is there.
if "python-packages" not in config.available_features:
    config.unsupported = True

# Scripts and models that tests of several commands take.
config.substitutions.append(("%{shared}", config.test_source_root + "/tools/mpc/Inputs"))

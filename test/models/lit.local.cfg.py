# The models of goldens/ are no tests of lit.
config.suffixes = []

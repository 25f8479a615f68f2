# The models of goldens/ are not lit tests.
config.suffixes = []

// CMake requires a source file for the target of the precompiled header.

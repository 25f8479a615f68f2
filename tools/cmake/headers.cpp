// CMake wants a source to go with the headers that it compiles.

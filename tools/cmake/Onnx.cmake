# Finds ONNX and defines mpc_onnx: the library with its headers and those of protobuf.

find_package(Protobuf REQUIRED)
find_package(ONNX REQUIRED)
add_library(mpc_onnx INTERFACE)
# ONNX 1.17 (Debian 13) puts its targets into a namespace, 1.12 (Debian 12) does not.
if(TARGET ONNX::onnx)
  target_link_libraries(mpc_onnx INTERFACE ONNX::onnx ONNX::onnx_proto)
else()
  target_link_libraries(mpc_onnx INTERFACE onnx onnx_proto)
endif()
target_link_libraries(mpc_onnx INTERFACE protobuf::libprotobuf)

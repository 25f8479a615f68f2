# Finds MLIR and defines mpc_add_library, mpc_add_dialect, mpc_add_passes,
# mpc_add_tool and mpc_use_mlir: thin wrappers that each hide a single idiom.

# The default is Debian's path. It is not a HINT, because CMake would silently use
# a hint if -DMLIR_DIR names an unsuitable version, instead of rejecting it.
set(MLIR_DIR /usr/lib/llvm-22/lib/cmake/mlir CACHE PATH
  "Folder of MLIRConfig.cmake")
find_package(MLIR 22.1 REQUIRED CONFIG)
message(STATUS "MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_INSTALL_PREFIX}")
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})

set(LLVM_RUNTIME_OUTPUT_INTDIR ${PROJECT_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${PROJECT_BINARY_DIR}/lib)
find_program(LLVM_EXTERNAL_LIT lit HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)

include(TableGen)
include(AddLLVM)
include(AddMLIR)
# Not HandleLLVMOptions, which disables eleven warnings, or all of them.

separate_arguments(definitions NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_definitions(${definitions})
include_directories(${PROJECT_SOURCE_DIR})
# SYSTEM also for generated code: warnings are for hand-written code.
include_directories(SYSTEM
  ${PROJECT_BINARY_DIR} ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})

# libMLIR.so, which links libLLVM.so; or their archives, for programs and libraries that
# run where LLVM is not installed, such as Python wheels. Never mix the two: a second copy
# has a second registry of options, targets and types, and the linker decides which one a
# call uses.
option(MPC_STATIC_MLIR "Link MLIR and LLVM statically" OFF)
set(mpc_mlir MLIR)
if(MPC_STATIC_MLIR)
  file(GLOB archives ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
  list(JOIN archives "," archives)
  find_package(ZLIB REQUIRED)
  find_library(zstd zstd REQUIRED)
  add_library(mpc_static_mlir INTERFACE)
  target_link_libraries(mpc_static_mlir INTERFACE
    "$<LINK_GROUP:RESCAN,${archives}>" ZLIB::ZLIB ${zstd} ${CMAKE_DL_LIBS})
  # Debian has no archive of Polly, which optimizations at link time name; we have none.
  target_link_options(mpc_static_mlir INTERFACE
    LINKER:--gc-sections LINKER:--defsym=_Z18getPollyPluginInfov=0)
  set(mpc_mlir mpc_static_mlir)
endif()

# Parsing MLIR's headers takes ten times as long as compiling the code after them,
# so they are precompiled. That requires the same flags everywhere: exceptions,
# because ONNX and failing allocations throw, position-independent code in programs as
# in libraries, and the same optimization, which GCC 13 and later compare.
set(LLVM_REQUIRES_EH ON)
set(LLVM_REQUIRES_RTTI ON)
set(CMAKE_CXX_COMPILE_OPTIONS_PIE -fPIC)
add_library(mpc_mlir_headers OBJECT ${CMAKE_CURRENT_LIST_DIR}/headers.cpp)
target_precompile_headers(mpc_mlir_headers PRIVATE <tools/cmake/headers.h>)
# Run time is spent in MLIR and LLVM; -O2 here would take half of the build time.
set(mpc_mlir_optimization $<$<CONFIG:Release>:-O1>)
target_compile_options(mpc_mlir_headers PRIVATE ${mpc_mlir_optimization})

# mpc_use_mlir(TARGET): for targets whose sources include MLIR. Each file must still
# include what it uses: -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON must build as well.
function(mpc_use_mlir target)
  target_precompile_headers(${target} REUSE_FROM mpc_mlir_headers)
  target_compile_options(${target} PRIVATE ${mpc_mlir_optimization})
endfunction()

# mpc_add_library(MPCName SOURCES… DEPENDS targets… LINK libs…): `libs` are ours.
# Use PARTIAL_SOURCES_INTENDED if other libraries have files of the same folder.
function(mpc_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LINK" ${ARGN})
  add_mlir_library(${name} ${ARG_SOURCES} ${ARG_UNPARSED_ARGUMENTS}
    EXCLUDE_FROM_LIBMLIR DISABLE_INSTALL
    DEPENDS ${ARG_DEPENDS} LINK_LIBS PUBLIC ${ARG_LINK} ${mpc_mlir})
  mpc_use_mlir(${name})
  mpc_compile_together(${name})
endfunction()

# mpc_add_dialect(Amp amp SOURCES… LINK libs…): <Name>Ops.td and, if it exists,
# <Name>Interfaces.td of this folder become the library MPC<Name>.
function(mpc_add_dialect name mnemonic)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}Interfaces.td)
    set(LLVM_TARGET_DEFINITIONS ${name}Interfaces.td)
    mlir_tablegen(${name}Interfaces.h.inc -gen-op-interface-decls)
    mlir_tablegen(${name}Interfaces.cpp.inc -gen-op-interface-defs)
  endif()
  set(LLVM_TARGET_DEFINITIONS ${name}Ops.td)
  mlir_tablegen(${name}Dialect.h.inc -gen-dialect-decls -dialect=${mnemonic})
  mlir_tablegen(${name}Dialect.cpp.inc -gen-dialect-defs -dialect=${mnemonic})
  mlir_tablegen(${name}Enums.h.inc -gen-enum-decls)
  mlir_tablegen(${name}Enums.cpp.inc -gen-enum-defs)
  mlir_tablegen(${name}Attributes.h.inc -gen-attrdef-decls -attrdefs-dialect=${mnemonic})
  mlir_tablegen(${name}Attributes.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${mnemonic})
  mlir_tablegen(${name}Ops.h.inc -gen-op-decls)
  mlir_tablegen(${name}Ops.cpp.inc -gen-op-defs)
  add_public_tablegen_target(MPC${name}IncGen)
  mpc_add_library(MPC${name} DEPENDS MPC${name}IncGen ${ARGN})
endfunction()

# mpc_add_passes(Precision SOURCES… LINK libs…): Passes.td of this folder and
# its pass files become the library MPC<Stage>Passes.
function(mpc_add_passes stage)
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name MPC${stage})
  add_public_tablegen_target(MPC${stage}PassesIncGen)
  mpc_add_library(MPC${stage}Passes DEPENDS MPC${stage}PassesIncGen ${ARGN})
endfunction()

# mpc_add_tool(mpc-opt SOURCES… LINK libs…): the executable bin/<name>.
function(mpc_add_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_llvm_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  mpc_use_mlir(${name})
endfunction()

# mpc_compile_together(TARGET): compiles eight source files of a target at a time
# as one (a unity build), because headers and templates take most of the time and
# are then compiled once for all eight. Two files that define the same name do not
# compile together: rename one of the definitions. Files that use LLVM's namespace
# form groups of their own, because MLIR's namespace has some of the same names.
# Files that instantiate all ops of a dialect are compiled by themselves: they take
# a minute, which a change of an op's file should not have to wait for.
# -DMPC_COMPILE_TOGETHER=OFF compiles each file by itself.
option(MPC_COMPILE_TOGETHER "Compile eight source files of a target as one" ON)
function(mpc_compile_together target)
  get_target_property(sources ${target} SOURCES)
  set(count_mlir 0)
  set(count_llvm 0)
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source)
    file(STRINGS ${source} instantiates_ops REGEX "Ops[.]cpp[.]inc")
    if(instantiates_ops)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      continue()
    endif()
    set(kind mlir)
    file(STRINGS ${source} uses_llvm REGEX "^using namespace llvm;")
    if(uses_llvm)
      set(kind llvm)
    endif()
    math(EXPR group "${count_${kind}} / 8")
    math(EXPR count_${kind} "${count_${kind}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${kind}${group})
  endforeach()
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${MPC_COMPILE_TOGETHER}
    UNITY_BUILD_MODE GROUP
    UNITY_BUILD_CODE_AFTER_INCLUDE "#undef DEBUG_TYPE")
endfunction()

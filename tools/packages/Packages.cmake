# Debian packages, which cpack writes from what the install rules install: libmpcrt0,
# libmpctrain0 and libmpcrt-dev, and, if the compiler is built, mpc-compiler,
# libmpccompiler0 and libmpccompiler-dev (tools/package.sh).

get_target_property(soversion mpc_runtime_shared SOVERSION)
set(runtime libmpcrt${soversion})
get_target_property(soversion mpc_train_shared SOVERSION)
set(training libmpctrain${soversion})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME mpc)
set(CPACK_PACKAGE_VERSION ${mpc_version})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL runtime training development)
if(MPC_BUILD_COMPILER)
  get_target_property(soversion mpc_compiler_shared SOVERSION)
  set(compiler libmpccompiler${soversion})
  list(APPEND CPACK_COMPONENTS_ALL tools compiler compiler_development)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/AddDebianFiles.cmake)
set(CPACK_MPC_SOURCE_DIR ${PROJECT_SOURCE_DIR})

# The release is part of the version, because the libraries of another one have other
# versions, and the packages of a newer release replace those of an older one.
cmake_host_system_information(RESULT release QUERY DISTRIB_INFO)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1~${release_ID}${release_VERSION_ID})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# Whoever builds packages for others: cpack -D CPACK_PACKAGE_CONTACT='Name <address>'.
set(CPACK_PACKAGE_CONTACT "mpc maintainers <maintainers@mpc.invalid>")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME ${runtime})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
"library that trains compiled machine-learning models
libmpcrt loads the packages that the compiler mpc writes. It trains and
evaluates models on CPUs with AVX2 and on NVIDIA GPUs, and saves checkpoints.
.
This package contains the shared library.")

set(CPACK_DEBIAN_TRAINING_PACKAGE_NAME ${training})
set(CPACK_DEBIAN_TRAINING_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_TRAINING_PACKAGE_SHLIBDEPS ON)
# dpkg-shlibdeps finds libmpcrt here; no installed package has it.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
set(CPACK_DEBIAN_TRAINING_PACKAGE_DEPENDS "${runtime} (>= ${mpc_version})")
set(CPACK_DEBIAN_TRAINING_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)
set(CPACK_COMPONENT_TRAINING_DESCRIPTION
"library with the training loop of the compiler mpc
libmpctrain reads data, takes batches, evaluates, and saves and resumes
checkpoints, as the command 'mpc train' does, for programs in C and C++.
.
This package contains the shared library.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libmpcrt-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "${runtime} (= ${mpc_version}-${CPACK_DEBIAN_PACKAGE_RELEASE}), ${training} (= ${mpc_version}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
"library that trains compiled machine-learning models (development files)
libmpcrt loads the packages that the compiler mpc writes. It trains and
evaluates models on CPUs with AVX2 and on NVIDIA GPUs, and saves checkpoints.
.
This package contains the C and C++ headers of libmpcrt and libmpctrain, and
files for CMake and pkg-config.")

# Debian's package mpc is a client of a music player, with a command of this name.
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME mpc-compiler)
set(CPACK_DEBIAN_TOOLS_PACKAGE_CONFLICTS mpc)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS libmpcrt-dev)
set(CPACK_COMPONENT_TOOLS_DESCRIPTION
"training compiler for machine-learning models in ONNX format
mpc compiles an ONNX model into a training program in mixed precision: forward
pass, backward pass, loss and optimizer. It trains, evaluates and exports
models on CPUs with AVX2 and on NVIDIA GPUs, without Python or a framework.
.
This package contains the command mpc, its manual pages and completions.")

set(CPACK_DEBIAN_COMPILER_PACKAGE_NAME ${compiler})
set(CPACK_DEBIAN_COMPILER_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_COMPILER_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPILER_PACKAGE_DEPENDS "${runtime} (>= ${mpc_version})")
set(CPACK_DEBIAN_COMPILER_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)
set(CPACK_COMPONENT_COMPILER_DESCRIPTION
"library that compiles machine-learning models in ONNX format for training
libmpccompiler does what the command 'mpc compile' does, for programs in C and
C++. The library libmpcrt trains the compiled models.
.
This package contains the shared library.")

set(CPACK_DEBIAN_COMPILER_DEVELOPMENT_PACKAGE_NAME libmpccompiler-dev)
set(CPACK_DEBIAN_COMPILER_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_COMPILER_DEVELOPMENT_PACKAGE_DEPENDS
  "${compiler} (= ${mpc_version}-${CPACK_DEBIAN_PACKAGE_RELEASE}), libmpcrt-dev (= ${mpc_version}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(CPACK_COMPONENT_COMPILER_DEVELOPMENT_DESCRIPTION
"library that compiles machine-learning models (development files)
libmpccompiler does what the command 'mpc compile' does, for programs in C and
C++. The library libmpcrt trains the compiled models.
.
This package contains the C header, and files for CMake and pkg-config.")

include(CPack)

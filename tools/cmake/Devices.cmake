# mpc_list_devices(NAMES FOLDERS): the columns of kernels/devices.def of these
# names, in the order of its rows.
function(mpc_list_devices names folders)
  set(table ${PROJECT_SOURCE_DIR}/kernels/devices.def)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(STRINGS ${table} rows REGEX "^MPC_DEVICE")
  set(row "^MPC_DEVICE\\(([a-z0-9_]+), ([A-Za-z0-9]+), .*")
  list(TRANSFORM rows REPLACE ${row} "\\1" OUTPUT_VARIABLE ${names})
  list(TRANSFORM rows REPLACE ${row} "\\2" OUTPUT_VARIABLE ${folders})
  set(${names} ${${names}} PARENT_SCOPE)
  set(${folders} ${${folders}} PARENT_SCOPE)
endfunction()

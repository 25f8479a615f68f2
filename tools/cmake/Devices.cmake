# mpc_list_devices(NAMES FOLDERS): sets these variables to the names and folders
# in kernels/devices.def, in the order of its rows.
function(mpc_list_devices out_names out_folders)
  set(table ${PROJECT_SOURCE_DIR}/kernels/devices.def)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(STRINGS ${table} rows REGEX "^MPC_DEVICE")
  set(row "^MPC_DEVICE\\(([a-z0-9_]+), ([A-Za-z0-9]+), .*")
  list(TRANSFORM rows REPLACE ${row} "\\1" OUTPUT_VARIABLE first)
  list(TRANSFORM rows REPLACE ${row} "\\2" OUTPUT_VARIABLE second)
  set(${out_names} ${first} PARENT_SCOPE)
  set(${out_folders} ${second} PARENT_SCOPE)
endfunction()

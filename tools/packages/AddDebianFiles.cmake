# Runs in cpack, between copying the files of each package and packing them: adds the
# documents that Debian expects, compresses them, and moves what Debian has elsewhere.

# compress(FILE...): replaces files by gzip files that do not contain the time.
function(compress)
  execute_process(COMMAND gzip -9nf ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
  list(TRANSFORM ARGN APPEND .gz)
  file(CHMOD ${ARGN} FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endfunction()

# The day of SOURCE_DATE_EPOCH, if that is set.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} key)
  set(package ${CPACK_DEBIAN_${key}_PACKAGE_NAME})
  set(share ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share)
  set(documents ${share}/doc/${package})
  file(MAKE_DIRECTORY ${documents})

  configure_file(${CMAKE_CURRENT_LIST_DIR}/copyright ${documents}/copyright COPYONLY)
  configure_file(${CPACK_MPC_SOURCE_DIR}/CHANGELOG.md ${documents}/changelog COPYONLY)
  file(WRITE ${documents}/changelog.Debian
"${package} (${version}) unstable; urgency=medium

  * Build version ${CPACK_PACKAGE_VERSION}; the changes are in changelog.gz.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  compress(${documents}/changelog ${documents}/changelog.Debian)

  if(component STREQUAL "tools")
    file(GLOB pages ${share}/man/man1/*.1)
    compress(${pages})
    file(RENAME ${share}/zsh/site-functions ${share}/zsh/vendor-completions)
    file(COPY ${CMAKE_CURRENT_LIST_DIR}/lintian-overrides DESTINATION ${share}/lintian/overrides)
    file(RENAME ${share}/lintian/overrides/lintian-overrides ${share}/lintian/overrides/${package})
  endif()
endforeach()

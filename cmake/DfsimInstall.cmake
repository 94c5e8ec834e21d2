# cmake --install: PREFIX/bin/dfsim, its data in PREFIX/share/dfsim (the layout of the source tree,
# see base/io/data_dir.h), headers in PREFIX/include/dfsim, and the package that find_package(dfsim)
# reads. cpack -G DEB puts the same into a Debian package.
include(CMakePackageConfigHelpers)

install(TARGETS dfsim RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

set(DFSIM_DATA_DESTINATION ${CMAKE_INSTALL_DATADIR}/dfsim)
install(DIRECTORY hardware DESTINATION ${DFSIM_DATA_DESTINATION}
        FILES_MATCHING PATTERN "*.yaml")
install(DIRECTORY graphs/zoo DESTINATION ${DFSIM_DATA_DESTINATION}/graphs
        FILES_MATCHING PATTERN "*.onnx")
# What `dfsim calibrate` runs, and what `dfsim validate` is given.
install(DIRECTORY datasets/collect datasets/measured DESTINATION ${DFSIM_DATA_DESTINATION}/datasets
        PATTERN __pycache__ EXCLUDE)
if(EXISTS ${PROJECT_SOURCE_DIR}/opmodel/pretrained)
  install(DIRECTORY opmodel/pretrained DESTINATION ${DFSIM_DATA_DESTINATION}/opmodel)
endif()

# Headers keep their paths from the root of the sources: #include "schedulers/scheduler.h".
# Those of cli/ and report/ are the program's own, and internal ones are their folder's own.
foreach(folder base hardware graphs opmodel datasets partition schedulers sim)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder})
    install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dfsim
            FILES_MATCHING PATTERN "*.h" PATTERN "*_internal.h" EXCLUDE
            # Folders of data and scripts would be installed empty.
            PATTERN zoo EXCLUDE PATTERN collect EXCLUDE PATTERN pretrained EXCLUDE
            PATTERN runtimes EXCLUDE PATTERN platforms EXCLUDE PATTERN measured EXCLUDE)
  endif()
endforeach()

# dfsim::headers: the include folder and the language standard, for code that dfsim loads.
add_library(dfsim_headers INTERFACE)
set_target_properties(dfsim_headers PROPERTIES EXPORT_NAME headers)
target_compile_features(dfsim_headers INTERFACE cxx_std_20)
target_include_directories(dfsim_headers INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/dfsim>)
install(TARGETS dfsim_headers EXPORT dfsimTargets)
set(DFSIM_PACKAGE_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dfsim)
install(EXPORT dfsimTargets NAMESPACE dfsim:: FILE dfsimConfig.cmake
        DESTINATION ${DFSIM_PACKAGE_DESTINATION})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dfsimConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/dfsimConfigVersion.cmake
        DESTINATION ${DFSIM_PACKAGE_DESTINATION})

install(FILES NOTICE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

set(CPACK_PACKAGE_CONTACT "The dfsim authors <dfsim@localhost>")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
include(CPack)

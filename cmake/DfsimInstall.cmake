# cmake --install: PREFIX/bin/dfsim, its data in PREFIX/share/dfsim (the layout of the source tree,
# see base/io/data_dir.h), public headers in PREFIX/include/dfsim, libraries in PREFIX/lib/dfsim, and
# the package that find_package(dfsim) reads. cpack -G DEB puts the same into a Debian package.
include(CMakePackageConfigHelpers)

# The tarball of packaging/make_packages.sh brings the shared libraries that Debian packages depend
# on. The old kind of entry also serves the libraries of libraries.
set_target_properties(dfsim PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/dfsim")
target_link_options(dfsim PRIVATE LINKER:--disable-new-dtags)
install(TARGETS dfsim RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# Man pages, completions of shells and the reference of options, written by the program itself.
install(CODE "
  set(share \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\")
  execute_process(COMMAND \"${PROJECT_BINARY_DIR}/dfsim\" help --share \"\${share}\"
                  COMMAND_ERROR_IS_FATAL ANY)")

set(DFSIM_DATA_DESTINATION ${CMAKE_INSTALL_DATADIR}/dfsim)
install(DIRECTORY hardware DESTINATION ${DFSIM_DATA_DESTINATION}
        FILES_MATCHING PATTERN "*.yaml")
install(DIRECTORY graphs/zoo DESTINATION ${DFSIM_DATA_DESTINATION}/graphs
        FILES_MATCHING PATTERN "*.onnx")
# Files that `dfsim calibrate` runs and `dfsim validate` reads.
install(DIRECTORY datasets/collect datasets/measured DESTINATION ${DFSIM_DATA_DESTINATION}/datasets
        PATTERN __pycache__ EXCLUDE)
if(EXISTS ${PROJECT_SOURCE_DIR}/opmodel/pretrained)
  install(DIRECTORY opmodel/pretrained DESTINATION ${DFSIM_DATA_DESTINATION}/opmodel)
endif()
install(DIRECTORY serving/kernels/pretrained DESTINATION ${DFSIM_DATA_DESTINATION}/serving/kernels)

# Public headers keep their paths from the root of the sources: #include "schedulers/scheduler.h".
include(public_headers)
foreach(header ${DFSIM_PUBLIC_HEADERS})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dfsim/${folder})
endforeach()

# The libraries, for programs that use dfsim; report/ and server/ are the program's own. dfsim::headers alone is
# for code that dfsim loads (schedulers/plugin.h).
get_property(DFSIM_INSTALLED_LIBRARIES GLOBAL PROPERTY DFSIM_LIBRARIES)
list(FILTER DFSIM_INSTALLED_LIBRARIES EXCLUDE REGEX "^dfsim_(report|html|server)$")
set_target_properties(dfsim_headers PROPERTIES EXPORT_NAME headers)
install(TARGETS dfsim_headers ${DFSIM_INSTALLED_LIBRARIES} EXPORT dfsimTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/dfsim)
set(DFSIM_PACKAGE_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dfsim)
install(EXPORT dfsimTargets NAMESPACE dfsim:: DESTINATION ${DFSIM_PACKAGE_DESTINATION})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/dfsimConfig.cmake.in ${PROJECT_BINARY_DIR}/dfsimConfig.cmake
  INSTALL_DESTINATION ${DFSIM_PACKAGE_DESTINATION} PATH_VARS DFSIM_DATA_DESTINATION)
# Modules for libraries that come without a CMake package of their own.
install(FILES ${PROJECT_BINARY_DIR}/dfsimConfig.cmake cmake/FindBabeltrace2.cmake
              cmake/FindClp.cmake cmake/FindXGBoostC.cmake
        DESTINATION ${DFSIM_PACKAGE_DESTINATION})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dfsimConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/dfsimConfigVersion.cmake
        DESTINATION ${DFSIM_PACKAGE_DESTINATION})

install(FILES NOTICE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES report/html/LICENSE.echarts report/html/NOTICE.echarts
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)

set(CPACK_PACKAGE_CONTACT "The dfsim authors <dfsim@localhost>")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Further dependencies of the libraries; the program needs none of it.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "cmake, g++, libonnx-dev, libprotobuf-dev, libxgboost-dev, \
libyaml-cpp-dev, libfmt-dev, libexpat1-dev, libsimdjson-dev, libsqlite3-dev, libbabeltrace2-dev, \
zlib1g-dev, liblzma-dev, coinor-libclp-dev")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
include(CPack)

# `./run package`: what a Debian package says of itself. Libraries that it needs are found by dpkg-shlibdeps.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME orrery)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Orrery authors <orrery@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
# Debug symbols are five sixths of what is built: they have a package of their own (orrery-dbgsym), which `./run package`
# makes of what this script takes out.
set(CPACK_STRIP_FILES OFF)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/debug_symbols.cmake)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/cuda ${PROJECT_BINARY_DIR}/opencl)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "gnuplot-nox, python3")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "clang-16, libclc-16, ocl-icd-libopencl1, python3-numpy, sqlite3")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "GPU performance simulator")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "Give it a GPU kernel or an unmodified CUDA program and the description of a GPU;
it says how long that takes there, and why. No GPU is needed. Five models, from
cycle-accurate to analytic; a C library and a Python package.")
include(CPack)

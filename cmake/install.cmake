# What `cmake --install` puts where: duet, its completion and manual page, Slurm's health check, libduet, its modules in
# duet/ beside it, the drop-in for NCCL in duet/nccl_shim, the headers of the public API, and the package by which find_package(duet) gives
# duet::duet, and pkg-config's file. All of it finds each other by relative paths, so that a prefix can be moved.
# The components duet, modules, dev and python are packages of their own (cmake/package.cmake).
include(CMakePackageConfigHelpers)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME duet)
install(TARGETS duet DESTINATION ${CMAKE_INSTALL_BINDIR})
set_target_properties(duet PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
set_target_properties(libduet PROPERTIES EXPORT_NAME duet INSTALL_RPATH "")
install(TARGETS libduet EXPORT duet LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT duet
                                            NAMELINK_COMPONENT dev)
get_property(modules GLOBAL PROPERTY DUET_MODULES)
install(TARGETS ${modules} DESTINATION ${CMAKE_INSTALL_LIBDIR}/duet COMPONENT modules)
if(TARGET duet_nccl_preload)  # as in the build folder: own_file() of core/module.h
  install(TARGETS duet_nccl_preload DESTINATION ${CMAKE_INSTALL_LIBDIR}/duet/nccl_shim)
  install(TARGETS duet_nccl_replacement DESTINATION ${CMAKE_INSTALL_LIBDIR}/duet/nccl_shim/replacement)
endif()

# Completion and the manual page, written by the program. The target `program` does not have them.
set(written ${PROJECT_BINARY_DIR}/written)
set(files duet.bash _duet duet.fish duet.1)
list(TRANSFORM files PREPEND ${written}/)
add_custom_command(OUTPUT ${files}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${written}
  COMMAND duet completion bash > ${written}/duet.bash
  COMMAND duet completion zsh > ${written}/_duet
  COMMAND duet completion fish > ${written}/duet.fish
  COMMAND duet docs man > ${written}/duet.1
  DEPENDS duet)
add_custom_target(written ALL DEPENDS ${files})
install(FILES ${written}/duet.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME duet OPTIONAL)
install(FILES ${written}/_duet DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions OPTIONAL)
install(FILES ${written}/duet.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
  OPTIONAL)
install(FILES ${written}/duet.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL)

install(PROGRAMS ${PROJECT_SOURCE_DIR}/deploy/slurm/health.sh
        DESTINATION ${CMAKE_INSTALL_DATADIR}/duet/slurm)

# Headers include each other as "duet/...": the names of Duet's folders alone could be another
# project's.
install(CODE "set(SOURCES ${PROJECT_SOURCE_DIR}/src)
              set(HEADERS communicator/communicator.h moe/token_exchange.h runtime/advised.h runtime/overlap.h)
              set(OUTPUT ${PROJECT_BINARY_DIR}/include/duet)" COMPONENT dev)
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/public_headers.cmake COMPONENT dev)
install(DIRECTORY ${PROJECT_BINARY_DIR}/include/duet DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT dev)
install(FILES ${PROJECT_SOURCE_DIR}/src/bindings/duet.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT dev)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/bindings/python/duet
        DESTINATION lib/python3/dist-packages COMPONENT python FILES_MATCHING PATTERN "*.py" PATTERN "py.typed")

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/duet)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/duetConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(EXPORT duet FILE duetConfig.cmake NAMESPACE duet:: DESTINATION ${package} COMPONENT dev)
install(FILES ${PROJECT_BINARY_DIR}/duetConfigVersion.cmake DESTINATION ${package} COMPONENT dev)
file(RELATIVE_PATH DUET_PREFIX_FROM_PC ${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig
     ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/duet.pc.in ${PROJECT_BINARY_DIR}/duet.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/duet.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT dev)

# Pages where README's links find them; the journals of results, 20 MB, stay in the sources.
set(pages README.md CHANGELOG.md ARCHITECTURE.md CONTRIBUTING.md LICENSE)
list(TRANSFORM pages PREPEND ${PROJECT_SOURCE_DIR}/)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/deploy
        DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN results EXCLUDE)
set(third_party ${PROJECT_BINARY_DIR}/third-party-licences.txt)
install(CODE "set(NODE_MODULES \"${DUET_NODE_MODULES}\")
              set(OUTPUT ${third_party})")
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/third_party.cmake)
install(FILES ${third_party} DESTINATION ${CMAKE_INSTALL_DOCDIR})
include(package)

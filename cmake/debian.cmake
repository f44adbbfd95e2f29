# Run by cpack for each generator, before it packs: what Debian asks of a package's documents, in the
# .deb alone. Lintian's other complaints are answered where they stand.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)

# FILE becomes FILE.gz, the same at each run.
function(compress file)
  execute_process(COMMAND gzip -9nf ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# package(COMPONENT PACKAGE OVERRIDES): its changelog, and which of lintian's tags do not apply.
function(package component package overrides)
  set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}/usr/share)
  set(changelog ${root}/doc/${package}/changelog.Debian)
  file(WRITE ${changelog}
"${package} (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Built by cpack. What changed is in duet's changelog.gz.

 -- ${CPACK_PACKAGE_CONTACT}  ${now}
")
  compress(${changelog})
  file(WRITE ${root}/doc/${package}/copyright
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: duet
Comment: What is in these files and not Duet's, with its licences:
 third-party-licences.txt in the package duet.

Files: *
Copyright: 2026 the authors of Duet
License: Apache-2.0

License: Apache-2.0
 On Debian systems the text of version 2.0 of the Apache License is in
 /usr/share/common-licenses/Apache-2.0.
")
  file(WRITE ${root}/lintian/overrides/${package}
"# The changelog is of this build, and closes no report of Debian's.
initial-upload-closes-no-bugs
${overrides}")
endfunction()

package(duet duet
"# The program and its library are one package.
package-name-doesnt-match-sonames libduet${CPACK_PACKAGE_VERSION_MAJOR}.${CPACK_PACKAGE_VERSION_MINOR}
# cpack writes these scripts.
maintscript-calls-ldconfig [postinst]
maintscript-calls-ldconfig [postrm]
")
package(modules duet-modules
"# Open MPI's own flags for programs that link with it, and the CUDA toolkit, which is no package.
custom-library-search-path RUNPATH *
")
package(dev libduet-dev
"# The library is in /usr/lib, for one architecture.
pkg-config-unavailable-for-cross-compilation *
")
package(python python3-duet "")
set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/duet/usr/share)
file(REMOVE ${share}/doc/duet/LICENSE)  # it is the system's
file(RENAME ${share}/doc/duet/CHANGELOG.md ${share}/doc/duet/changelog)
compress(${share}/doc/duet/changelog)
if(EXISTS ${share}/man/man1/duet.1)
  compress(${share}/man/man1/duet.1)
endif()
